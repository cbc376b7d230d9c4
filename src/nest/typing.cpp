#include "nest/typing.hpp"

#include <algorithm>

namespace recount::nest {
namespace {

class Typing {
public:
  Typing(const Definition& nest, const Types& types) : nest_(nest), types_(types) {}

  Arithmetic of(const Value& value, Work& work) const {
    switch (value.kind) {
    case Value::Kind::number: return Arithmetic::number;
    case Value::Kind::index: return Arithmetic::whole;
    case Value::Kind::scalar: return arithmetic_of(type_of(nest_.scalars[value.scalar].type, types_));
    case Value::Kind::element:
      ++work.loads;
      return arithmetic_of(type_of(nest_.arrays[value.element.array].type, types_));
    default: break;
    }
    const Arithmetic left = of(value.parts[0], work), right = of(value.parts[1], work);
    return operation(value.kind, left, right, value.at, work);
  }
  Arithmetic operation(Value::Kind kind, Arithmetic left, Arithmetic right, Spot at, Work& work) const {
    const Arithmetic all = combined(left, right);
    if (kind == Value::Kind::quotient && all == Arithmetic::whole)
      refuse(nest_.file, at, "a quotient of whole numbers", "divide f32 or f64 values only");
    if (all == Arithmetic::f32) ++work.single_operations;
    if (all == Arithmetic::f64) ++work.double_operations;
    return all;
  }

private:
  const Definition& nest_;
  const Types& types_;
};

} // namespace

Arithmetic arithmetic_of(Type type) {
  if (type == Type::f64) return Arithmetic::f64;
  return type == Type::f32 ? Arithmetic::f32 : Arithmetic::whole;
}

Arithmetic combined(Arithmetic left, Arithmetic right) {
  return std::max(left, right);
}

Type target_type(const Definition& nest, const Statement& statement, const Types& types) {
  if (const auto* const scalar = std::get_if<std::size_t>(&statement.target))
    return type_of(nest.scalars[*scalar].type, types);
  return type_of(nest.arrays[std::get<Element>(statement.target).array].type, types);
}

Work work_of(const Definition& nest, const Statement& statement, const Types& types) {
  Work work;
  const Typing typing(nest, types);
  const Arithmetic target = arithmetic_of(target_type(nest, statement, types));
  Arithmetic value = typing.of(statement.value, work);
  const bool element = std::holds_alternative<Element>(statement.target);
  if (statement.operation) {
    value = typing.operation(*statement.operation, target, value, statement.at, work);
    work.loads += element ? 1 : 0;
  }
  work.stores += element ? 1 : 0;
  const bool fraction = value == Arithmetic::number && !statement.value.whole;
  if (target == Arithmetic::whole && (value > Arithmetic::whole || fraction))
    refuse(nest.file, statement.at, "a floating-point value is assigned to a whole number",
           "assign it to an f32 or f64 element or scalar");
  return work;
}

} // namespace recount::nest
