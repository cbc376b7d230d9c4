#include "nest/definition.hpp"

#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace recount::nest {
namespace {

/// Names and bytes, in the order of Type.
constexpr std::array<std::pair<const char*, std::int64_t>, 6> type_table{
    {{"f64", 8}, {"f32", 4}, {"i64", 8}, {"i32", 4}, {"i16", 2}, {"i8", 1}}};

} // namespace

const char* name(Type type) {
  return type_table[static_cast<std::size_t>(type)].first;
}

std::int64_t bytes(Type type) {
  return type_table[static_cast<std::size_t>(type)].second;
}

std::optional<Type> parse_type(std::string_view name) {
  for (std::size_t i = 0; i < type_table.size(); ++i)
    if (name == type_table[i].first) return static_cast<Type>(i);
  return {};
}

void refuse(const std::string& file, Spot at, const std::string& cause, const std::string& fix) {
  throw bad_input(fmt::format("{}:{}:{}", file, at.line, at.column), cause, fix);
}

namespace {

/// The type of an operation's result; counts it in `work`.
Arithmetic operate(const Definition& nest, Value::Kind kind, Arithmetic left, Arithmetic right, Spot at,
                   Work& work) {
  const Arithmetic result = combined(left, right);
  if (kind == Value::Kind::quotient && result == Arithmetic::whole)
    refuse(nest.file, at, "a quotient of whole numbers", "divide f32 or f64 values only");
  if (result == Arithmetic::f32) ++work.single_operations;
  if (result == Arithmetic::f64) ++work.double_operations;
  return result;
}

/// The type of a value; counts its loads and operations in `work`.
Arithmetic evaluate(const Definition& nest, const Types& types, const Value& value, Work& work) {
  switch (value.kind) {
  case Value::Kind::number: return Arithmetic::number;
  case Value::Kind::index: return Arithmetic::whole;
  case Value::Kind::scalar: return arithmetic_of(type_of(nest.scalars[value.scalar].type, types));
  case Value::Kind::element:
    ++work.loads;
    return arithmetic_of(type_of(nest.arrays[value.element.array].type, types));
  default: break;
  }
  const Arithmetic left = evaluate(nest, types, value.parts[0], work),
                   right = evaluate(nest, types, value.parts[1], work);
  return operate(nest, value.kind, left, right, value.at, work);
}

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
  const Arithmetic target = arithmetic_of(target_type(nest, statement, types));
  Arithmetic value = evaluate(nest, types, statement.value, work);
  const bool element = std::holds_alternative<Element>(statement.target);
  if (statement.operation) {
    value = operate(nest, *statement.operation, target, value, statement.at, work);
    work.loads += element ? 1 : 0;
  }
  work.stores += element ? 1 : 0;
  const bool fraction = value == Arithmetic::number && !statement.value.whole;
  if (target == Arithmetic::whole && (value > Arithmetic::whole || fraction))
    refuse(nest.file, statement.at, "a floating-point value is assigned to a whole number",
           "assign it to an f32 or f64 element or scalar");
  return work;
}

namespace {

using model::Affine;

Affine constant(std::int64_t value) {
  return {value, {}};
}

bool scaled(std::int64_t& to, std::int64_t by, std::int64_t factor) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(by, factor, &product) && !__builtin_add_overflow(to, product, &to) &&
         to <= most_coefficient && to >= -most_coefficient;
}

/// The greatest value of `form` over the innermost `depth` loops, which it is bounded by in turn: variables
/// are replaced by the ends of their loops (Fourier-Motzkin elimination), the innermost first.
std::optional<std::int64_t> eliminated(Affine form, const std::vector<Around>& loops, std::size_t depth) {
  if (depth == 0) return form.constant;
  const std::size_t v = depth - 1;
  const std::int64_t slope = form.slope[v];
  form.slope[v] = 0;
  if (slope == 0) return eliminated(form, loops, v);
  std::optional<std::int64_t> best;
  const auto offer = [&](const Affine& value) {
    const auto replaced = plus_times(form, value, slope);
    const auto bound = replaced ? eliminated(*replaced, loops, v) : std::nullopt;
    if (bound && (!best || *bound < *best)) best = bound;
  };
  const Around& loop = loops[v];
  if (slope < 0) {
    offer(loop.first);
  } else {
    offer(constant(loop.greatest)); // the step is considered in it
    offer(loop.last.one + -1);
    if (!(loop.last.one == loop.last.other)) offer(loop.last.other + -1);
  }
  return best;
}

} // namespace

std::optional<Affine> plus_times(const Affine& x, const Affine& y, std::int64_t factor) {
  Affine sum = x;
  bool good = scaled(sum.constant, y.constant, factor);
  for (std::size_t v = 0; v < model::nest_depth; ++v)
    good = scaled(sum.slope[v], y.slope[v], factor) && good;
  return good ? std::optional(sum) : std::nullopt;
}

Affine Evaluator::affine(const Index& index) const {
  const auto within = [&](const std::optional<Affine>& value) {
    if (!value)
      refuse(nest_.file, index.at, "a number of the expression exceeds 2^50 at this point",
             "use smaller parameters");
    return *value;
  };
  switch (index.kind) {
  case Index::Kind::number: return within(plus_times({}, constant(index.number), 1));
  case Index::Kind::parameter:
    return within(plus_times({}, constant(parameters_[static_cast<std::size_t>(index.number)]), 1));
  case Index::Kind::variable: {
    Affine variable;
    variable.slope[static_cast<std::size_t>(index.number)] = 1;
    return variable;
  }
  default: break;
  }
  const Affine left = affine(index.parts[0]), right = affine(index.parts[1]);
  switch (index.kind) {
  case Index::Kind::sum: return within(plus_times(left, right, 1));
  case Index::Kind::difference: return within(plus_times(left, right, -1));
  case Index::Kind::product:
    return index.parts[0].varies ? within(plus_times({}, left, right.constant))
                                 : within(plus_times({}, right, left.constant));
  case Index::Kind::quotient:
    if (right.constant == 0)
      refuse(nest_.file, index.at, "division by zero at this point", "use another value");
    return constant(left.constant / right.constant);
  default: return constant(std::min(left.constant, right.constant));
  }
}

model::Bound Evaluator::bound(const Index& index) const {
  if (index.kind == Index::Kind::least) return {affine(index.parts[0]), affine(index.parts[1])};
  const Affine one = affine(index);
  return {one, one};
}

std::optional<std::int64_t> greatest(const Affine& form, const std::vector<Around>& loops) {
  return eliminated(form, loops, loops.size());
}

std::optional<std::int64_t> least(const Affine& form, const std::vector<Around>& loops) {
  const auto value = eliminated(form * -1, loops, loops.size());
  return value ? std::optional(-*value) : std::nullopt;
}

} // namespace recount::nest
