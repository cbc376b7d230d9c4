#include "nest/affine.hpp"

#include <algorithm>

namespace recount::nest {
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
