// A loop nest as text, parsed: parameters, arrays, loops and statements. See recount-nest(5).
#pragma once

#include "model/nest.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recount::nest {

enum class Type { f64, f32, i64, i32, i16, i8 };

[[nodiscard]] const char* name(Type type);
[[nodiscard]] std::int64_t bytes(Type type);
[[nodiscard]] inline bool floating(Type type) {
  return type == Type::f64 || type == Type::f32;
}
[[nodiscard]] std::optional<Type> parse_type(std::string_view name);

/// A place in the file, from 1.
struct Spot {
  int line = 1, column = 1;
};

/// A type, or the value of a `type` parameter.
struct TypeName {
  Type type = Type::f64;
  std::optional<std::size_t> choice; ///< number of the `type` parameter
};

/// A whole number over parameters and loop variables, affine in the variables.
struct Index {
  enum class Kind { number, parameter, variable, sum, difference, product, quotient, least };
  Kind kind = Kind::number;
  std::int64_t number = 0; ///< the number, or which parameter or variable
  std::vector<Index> parts;
  Spot at;
  bool varies = false; ///< holds a loop variable
};

/// An element of an array.
struct Element {
  std::size_t array = 0;
  std::vector<Index> subscripts;
  Spot at;
};

/// What a statement computes.
struct Value {
  enum class Kind { number, index, element, scalar, sum, difference, product, quotient };
  Kind kind = Kind::number;
  double number = 0;
  bool whole = false; ///< a number without a decimal point
  Index index;        ///< one parameter or loop variable
  Element element;
  std::size_t scalar = 0;
  std::vector<Value> parts;
  Spot at;
};

/// target = value, or target op= value. The loads of the value happen from left to right, then the target is
/// loaded (op=) and stored.
struct Statement {
  std::variant<std::size_t, Element> target; ///< a scalar's number or an element
  bool declares = false;                     ///< the scalar
  std::optional<Value::Kind> operation;      ///< of op=
  Value value;
  Spot at;
};

struct Loop;
using Node = std::variant<Statement, Loop>;

/// for (variable = first; variable < last; variable += step); the variable's number is the depth of the loop.
struct Loop {
  std::string name; ///< of the variable
  std::size_t variable = 0;
  Index first, last, step;
  std::vector<Node> body;
  Spot at;
};

struct Parameter {
  std::string name, prose;
  std::int64_t fallback = 0, least = 1, most = 0;
};
/// A parameter whose value is a type; the first choice is the default.
struct TypeParameter {
  std::string name, prose;
  std::vector<Type> choices;
};
struct Array {
  std::string name;
  TypeName type;
  std::vector<Index> extents;
  bool column_major = false;
  std::optional<Index> leading; ///< leading dimension in elements
  Spot at;
};
/// A value in a register.
struct Scalar {
  std::string name;
  TypeName type;
};

struct Definition {
  std::string file; ///< for messages
  std::vector<Parameter> parameters;
  std::vector<TypeParameter> types;
  std::vector<Array> arrays;
  std::vector<Scalar> scalars;
  std::vector<Node> body;
};

/// Throws recount::Error (bad_input) with FILE:LINE:COLUMN.
[[noreturn]] void refuse(const std::string& file, Spot at, const std::string& cause, const std::string& fix);

/// `visit(element)` for each load of a value, in order.
template <class Visit>
void for_each_load(const Value& value, const Visit& visit) {
  if (value.kind == Value::Kind::element) visit(value.element);
  for (const Value& part : value.parts)
    for_each_load(part, visit);
}

// Types of values, and what a statement costs.

/// The types at a point: the choice of each `type` parameter.
using Types = std::vector<Type>;

[[nodiscard]] inline Type resolve_type(const TypeName& name, const Types& types) {
  return name.choice ? types[*name.choice] : name.type;
}

/// Arithmetic is done in whole numbers of 64 bits that wrap, in f32 or in f64. A number takes the type of
/// what it is combined with.
enum class Arithmetic { number, whole, f32, f64 };
[[nodiscard]] Arithmetic arithmetic_of(Type type);
/// Of the result of an operation.
[[nodiscard]] Arithmetic combined(Arithmetic left, Arithmetic right);

/// Memory accesses and floating-point operations of one execution.
struct Work {
  std::int64_t loads = 0, stores = 0, single_operations = 0, double_operations = 0;
};

/// Throws recount::Error (bad_input) for a quotient of whole numbers and for a floating-point value that is
/// assigned to a whole number.
[[nodiscard]] Work count_work(const Definition& nest, const Statement& statement, const Types& types);

/// Of the target.
[[nodiscard]] Type target_type(const Definition& nest, const Statement& statement, const Types& types);

// Expressions of a nest evaluated at a point.

/// No constant and no slope is larger: products of two fit 128 bits, and addresses fit 64.
inline constexpr std::int64_t most_coefficient = std::int64_t{1} << 50;

/// `x + y * factor`; nothing if a coefficient exceeds the limit.
[[nodiscard]] std::optional<model::Affine> plus_times(const model::Affine& x, const model::Affine& y,
                                                      std::int64_t factor);

/// Evaluates expressions at a point.
class Evaluator {
public:
  /// Keeps references.
  Evaluator(const Definition& nest, const std::vector<std::int64_t>& parameters)
      : nest_(nest), parameters_(parameters) {}

  /// Throws recount::Error (bad_input): overflow, division by zero.
  [[nodiscard]] model::Affine affine(const Index& index) const;
  /// The end of a loop, which may be the lesser of two.
  [[nodiscard]] model::Bound bound(const Index& index) const;
  /// Of an expression without loop variables.
  [[nodiscard]] std::int64_t number(const Index& index) const { return affine(index).constant; }

private:
  const Definition& nest_;
  const std::vector<std::int64_t>& parameters_;
};

/// A loop around an access, at a point.
struct Around {
  model::Affine first;
  model::Bound last;
  std::int64_t step = 1;
  std::int64_t least = 0, greatest = -1; ///< values of its variable; none if greatest < least
};

/// The greatest and the least value of a form over the turns of the loops around it, outermost first. Bounds
/// that hold always; exact unless a step or the end of a loop depends on loops in a way that only some turns
/// reach. Nothing if a number exceeds the limit.
[[nodiscard]] std::optional<std::int64_t> greatest(const model::Affine& form,
                                                   const std::vector<Around>& loops);
[[nodiscard]] std::optional<std::int64_t> least(const model::Affine& form, const std::vector<Around>& loops);

// Reads a loop nest.

/// At most, besides model::nest_depth loops and model::nest_arrays arrays.
inline constexpr std::size_t most_bytes = 64 << 10, most_parameters = 16, most_statements = 256,
                             most_scalars = 64, most_dimensions = 8, most_terms = 256;
/// Of a parameter without bounds.
inline constexpr std::int64_t most_value = std::int64_t{1} << 40;

/// `file` names the text in messages. Throws recount::Error (bad_input) with FILE:LINE:COLUMN.
[[nodiscard]] Definition parse(const std::string& file, std::string_view text);

// A loop nest at a point: parameters are numbers, arrays are placed, subscripts are checked.

/// The values of the parameters, in the order of the file.
struct Setting {
  std::vector<std::int64_t> parameters;
  Types types;
  std::int64_t offset = 0; ///< bytes from a page boundary to the first element of each array
};

struct PlacedArray {
  Type type = Type::f64;
  std::vector<std::int64_t> extents, strides; ///< elements
  std::int64_t bytes = 0;
  std::int64_t begin = 0; ///< bytes from the first element of the first array
};

/// Numbers of accesses and turns, estimated from the middle of each loop.
struct Estimate {
  double accesses = 0;
  double most = 0;       ///< accesses if every loop ran as long as it ever does: no fewer iterations
  double in_columns = 0; ///< those that leave their line nearly every turn of the innermost loop
};

/// Keeps a reference to the definition.
class Point {
public:
  /// Throws recount::Error (bad_input) with FILE:LINE:COLUMN: an extent below 1, an array of more than a TiB,
  /// a step below 1, a subscript that leaves its array, numbers that overflow, no access at all.
  Point(const Definition& nest, Setting setting);
  /// Keeps the definition.
  Point(std::shared_ptr<const Definition> nest, Setting setting);

  [[nodiscard]] const Definition& definition() const { return nest_; }
  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] const std::vector<PlacedArray>& arrays() const& { return arrays_; }
  void arrays() const&& = delete; ///< of a point that is gone at once
  /// From the first element of the first array to the end of the last one. Each array begins `offset` bytes
  /// after a page boundary, in the order of the file.
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] const Estimate& estimate() const { return estimate_; }

  /// Loads, stores and operations of the nest, from the bounds of its loops.
  [[nodiscard]] Work work() const;
  /// How often the bodies of all loops are executed that hold other loops, and those loops entered.
  [[nodiscard]] std::int64_t outer_turns() const;
  /// The loops and accesses; `bases`: addresses of the first elements.
  [[nodiscard]] model::Nest recorded(const std::vector<std::uint64_t>& bases) const;

private:
  class Checker;
  std::shared_ptr<const Definition> kept_;
  const Definition& nest_;
  Setting setting_;
  std::vector<PlacedArray> arrays_;
  Estimate estimate_;
};

} // namespace recount::nest
