// A loop nest as text, parsed: parameters, arrays, loops and statements. See recount-nest(5).
#pragma once

#include <cstddef>
#include <cstdint>
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
[[noreturn]] void refuse(const std::string& file, Spot at, const std::string& cause,
                         const std::string& remedy);

/// `visit(element)` for each load of a value, in order.
template <class Visit>
void for_each_load(const Value& value, const Visit& visit) {
  if (value.kind == Value::Kind::element) visit(value.element);
  for (const Value& part : value.parts)
    for_each_load(part, visit);
}

} // namespace recount::nest
