// A nest as the tests see it: written down as text, and executed the way recount-nest(5) defines it. Knows
// nothing of the parser.
#pragma once

#include "nest/definition.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace written {

using Variables = std::map<std::string, std::int64_t>;

/// constant + sum of factor * name
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<std::int64_t, std::string>> terms;

  [[nodiscard]] std::int64_t at(const Variables& all) const {
    std::int64_t sum = constant;
    for (const auto& [factor, name] : terms)
      sum += factor * all.at(name);
    return sum;
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const auto& [factor, name] : terms) {
      if (!all.empty() || factor < 0) all += factor < 0 ? " - " : " + ";
      const std::int64_t size = factor < 0 ? -factor : factor;
      all += size == 1       ? name
             : size % 2 == 0 ? std::to_string(size) + " * " + name
                             : name + "*" + std::to_string(size);
    }
    if (all.empty()) return std::to_string(constant);
    if (constant != 0)
      all += (constant < 0 ? " - " : " + ") + std::to_string(constant < 0 ? -constant : constant);
    return all;
  }
};

struct Array {
  std::string name;
  std::vector<std::int64_t> extents;
  bool column_major = false;
  std::int64_t pad = 0; ///< leading dimension minus extent
};

struct Element {
  std::size_t array = 0;
  std::vector<Linear> subscripts;
};

struct Value {
  char kind = 'n'; ///< n number, e element, s scalar, or the operation
  double number = 0;
  Element element;
  std::string scalar;
  std::vector<Value> parts;
};

struct Node;
struct Nodes : std::vector<Node> {
  using std::vector<Node>::vector;
};

struct Statement {
  bool to_element = true, declares = false;
  Element element;
  std::string scalar;
  std::string sign = "="; ///< or "+=" ...
  Value value;
};
struct Loop {
  std::string variable;
  Linear first, last;
  std::vector<Linear> other; ///< of min(), at most one
  std::int64_t step = 1;
  Nodes body;
};
struct Node {
  bool loop = false;
  Statement statement;
  Loop of;
};

struct Nest {
  recount::nest::Type type = recount::nest::Type::f64; ///< of everything
  Variables parameters;
  std::vector<Array> arrays;
  Nodes body;
};

/// Writes a nest in the notation of recount-nest(5).
class Writer {
public:
  explicit Writer(const Nest& nest) : nest_(nest) {
    for (const auto& [name, value] : nest.parameters)
      out_ << "param " << name << " = " << value << " from 1 to 100000 # prose\n";
    for (const Array& array : nest.arrays) {
      out_ << recount::nest::name(nest.type) << " " << array.name;
      for (const std::int64_t extent : array.extents)
        out_ << "[" << extent << "]";
      const std::int64_t row = array.column_major ? array.extents.front() : array.extents.back();
      if (array.column_major) out_ << " column_major";
      if (array.pad > 0) out_ << " ld " << row << " + " << array.pad;
      out_ << "\n";
    }
    write(nest.body);
  }
  [[nodiscard]] std::string text() const { return out_.str(); }

private:
  void write(const Nodes& nodes) {
    for (const Node& node : nodes)
      node.loop ? write(node.of) : write(node.statement);
  }
  void write(const Loop& loop) {
    out_ << "for " << loop.variable << " in " << loop.first.text() << ":";
    if (loop.other.empty())
      out_ << loop.last.text();
    else
      out_ << "min(" << loop.last.text() << ", " << loop.other[0].text() << ")";
    if (loop.step != 1) out_ << ":" << loop.step;
    out_ << " {\n";
    write(loop.body);
    out_ << "}\n";
  }
  void write(const Statement& one) {
    if (one.declares) out_ << recount::nest::name(nest_.type) << " ";
    out_ << (one.to_element ? text(one.element) : one.scalar) << " " << one.sign << " " << text(one.value)
         << "\n";
  }
  std::string text(const Element& element) const {
    std::string all = nest_.arrays[element.array].name;
    for (const Linear& subscript : element.subscripts)
      all += "[" + subscript.text() + "]";
    return all;
  }
  std::string text(const Value& value) const {
    if (value.kind == 'n') {
      std::ostringstream number;
      number << value.number;
      return number.str();
    }
    if (value.kind == 'e') return text(value.element);
    if (value.kind == 's') return value.scalar;
    return "(" + text(value.parts[0]) + " " + value.kind + " " + text(value.parts[1]) + ")";
  }

  const Nest& nest_;
  std::ostringstream out_;
};

/// Executes a nest of f64 or of whole numbers element by element.
class Interpreter {
public:
  /// Called with (store, array, element number in storage) for each access, in order.
  std::function<void(bool, std::size_t, std::int64_t)> access;
  /// Called with (array, dimension, subscript) before each access.
  std::function<void(std::size_t, std::size_t, std::int64_t)> subscript;
  /// Values of the arrays in storage, if wanted; whole numbers wrap on storing.
  std::vector<std::vector<double>>* doubles = nullptr;
  std::vector<std::vector<std::int64_t>>* wholes = nullptr;
  std::int64_t loads = 0, stores = 0, operations = 0;

  explicit Interpreter(const Nest& nest) : nest_(nest), variables_(nest.parameters) {}
  void run() { run(nest_.body); }

  [[nodiscard]] static std::int64_t position(const Array& array, const std::vector<std::int64_t>& at) {
    std::int64_t sum = 0;
    const std::size_t n = array.extents.size();
    for (std::size_t i = 0; i < n; ++i) { // Horner, from the slowest dimension on
      const std::size_t d = array.column_major ? n - 1 - i : i;
      sum = sum * (array.extents[d] + (i + 1 == n ? array.pad : 0)) + at[d];
    }
    return sum;
  }

private:
  struct Number {
    double real = 0;
    std::uint64_t whole = 0;
  };

  void run(const Nodes& nodes) {
    for (const Node& node : nodes) {
      if (!node.loop) {
        run(node.statement);
        continue;
      }
      const Loop& loop = node.of;
      const auto last = [&] {
        const std::int64_t one = loop.last.at(variables_);
        return loop.other.empty() ? one : std::min(one, loop.other[0].at(variables_));
      }();
      for (std::int64_t i = loop.first.at(variables_); i < last; i += loop.step) {
        variables_[loop.variable] = i;
        run(loop.body);
      }
      variables_.erase(loop.variable);
    }
  }
  void run(const Statement& one) {
    Number value = of(one.value);
    if (one.sign != "=") {
      const Number before = one.to_element ? load(one.element) : scalars_.at(one.scalar);
      value = operation(one.sign[0], before, value);
    }
    if (one.to_element)
      store(one.element, value);
    else
      scalars_[one.scalar] = cut(value);
  }
  Number of(const Value& value) {
    if (value.kind == 'n')
      return {value.number, static_cast<std::uint64_t>(static_cast<std::int64_t>(value.number))};
    if (value.kind == 'e') return load(value.element);
    if (value.kind == 's') return scalars_.at(value.scalar);
    const Number left = of(value.parts[0]), right = of(value.parts[1]);
    return operation(value.kind, left, right);
  }
  Number operation(char sign, Number x, Number y) {
    ++operations;
    switch (sign) {
    case '+': return {x.real + y.real, x.whole + y.whole};
    case '-': return {x.real - y.real, x.whole - y.whole};
    case '*': return {x.real * y.real, x.whole * y.whole};
    default: return {x.real / y.real, 0};
    }
  }
  [[nodiscard]] Number cut(Number value) const {
    const auto to = [&](auto type) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<decltype(type)>(value.whole)));
    };
    using recount::nest::Type;
    if (nest_.type == Type::i32) value.whole = to(std::int32_t{});
    if (nest_.type == Type::i16) value.whole = to(std::int16_t{});
    if (nest_.type == Type::i8) value.whole = to(std::int8_t{});
    if (nest_.type == Type::f32) value.real = static_cast<double>(static_cast<float>(value.real));
    return value;
  }
  std::int64_t touch(const Element& element, bool storing) {
    const Array& array = nest_.arrays[element.array];
    std::vector<std::int64_t> at;
    bool inside = true;
    for (std::size_t d = 0; d < array.extents.size(); ++d) {
      at.push_back(element.subscripts[d].at(variables_));
      if (subscript) subscript(element.array, d, at.back());
      inside = inside && at.back() >= 0 && at.back() < array.extents[d];
    }
    ++(storing ? stores : loads);
    const std::int64_t where = position(array, at);
    if (access) access(storing, element.array, where);
    if (!inside && (doubles || wholes)) throw std::logic_error("a subscript leaves its array");
    return where;
  }
  Number load(const Element& element) {
    const auto where = static_cast<std::size_t>(touch(element, false));
    if (doubles) return {(*doubles)[element.array][where], 0};
    if (wholes) return {0, static_cast<std::uint64_t>((*wholes)[element.array][where])};
    return {};
  }
  void store(const Element& element, const Number& value) {
    const auto where = static_cast<std::size_t>(touch(element, true));
    if (doubles) (*doubles)[element.array][where] = cut(value).real;
    if (wholes) (*wholes)[element.array][where] = static_cast<std::int64_t>(cut(value).whole);
  }

  const Nest& nest_;
  Variables variables_;
  std::map<std::string, Number> scalars_;
};

} // namespace written
