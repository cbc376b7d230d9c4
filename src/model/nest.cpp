#include "model/nest.hpp"

#include <algorithm>

namespace recount::model {
namespace {

/// Least and greatest values of the variables of the surrounding loops.
struct Ranges {
  Environment least{}, greatest{};

  [[nodiscard]] std::int64_t greatest_value(const Affine& form) const {
    std::int64_t sum = form.constant;
    for (std::size_t v = 0; v < nest_depth; ++v)
      sum += std::max(form.slope[v] * least[v], form.slope[v] * greatest[v]);
    return sum;
  }
  [[nodiscard]] std::int64_t min_value(const Affine& form) const { return -greatest_value(form * -1); }
};

/// Drops the bound that is never the lesser, so that blocks that divide a matrix are recognised as equal.
void simplify_bounds(std::vector<NestNode>& nodes, const Ranges& around) {
  for (NestNode& node : nodes) {
    auto* const loop = std::get_if<NestLoop>(&node);
    if (loop == nullptr) continue;
    Bound& last = loop->last;
    const Affine surplus = last.one + last.other * -1;
    if (around.greatest_value(surplus) <= 0)
      last.other = last.one;
    else if (around.min_value(surplus) >= 0)
      last.one = last.other;
    Ranges inside = around;
    const std::int64_t least = around.min_value(loop->first);
    std::int64_t greatest = std::min(around.greatest_value(last.one), around.greatest_value(last.other)) - 1;
    if (around.greatest_value(loop->first) == least) // equal steps from one value
      greatest = std::max(least, greatest - (greatest - least) % loop->step);
    inside.least[loop->variable] = least;
    inside.greatest[loop->variable] = std::max(least, greatest);
    simplify_bounds(loop->body, inside);
  }
}

/// Sets of variables, a bit each.
struct Variables {
  unsigned trips = 0; ///< numbers of iterations depend on them
  unsigned inner = 0; ///< of loops
};

unsigned variables_in(const Affine& form) {
  unsigned bits = 0;
  for (std::size_t v = 0; v < nest_depth; ++v)
    if (form.slope[v] != 0) bits |= 1u << v;
  return bits;
}

Variables set_flags(std::vector<NestNode>& nodes) {
  Variables found;
  for (NestNode& node : nodes) {
    auto* const loop = std::get_if<NestLoop>(&node);
    if (loop == nullptr) continue;
    const unsigned own = 1u << loop->variable;
    const Variables body = set_flags(loop->body);
    loop->innermost = body.inner == 0;
    loop->uniform = (body.trips & (body.inner | own)) == 0;
    const Affine start = loop->first * -1;
    found.trips |= body.trips | variables_in(loop->last.one + start) | variables_in(loop->last.other + start);
    found.inner |= body.inner | own;
  }
  return found;
}

} // namespace

Nest prepare(Nest nest) {
  simplify_bounds(nest.nodes, {});
  set_flags(nest.nodes);
  return nest;
}

std::int64_t accesses(const std::vector<NestNode>& nodes, Environment& variables) {
  std::int64_t sum = 0;
  for (const NestNode& node : nodes) {
    const auto* const loop = std::get_if<NestLoop>(&node);
    sum += loop != nullptr ? accesses(*loop, variables) : 1;
  }
  return sum;
}

std::int64_t accesses(const NestLoop& loop, Environment& variables) {
  const std::int64_t trips = loop.trips(variables), first = loop.first.at(variables);
  if (trips == 0) return 0;
  std::int64_t sum = 0;
  for (std::int64_t trip = 0; trip < (loop.uniform ? 1 : trips); ++trip) {
    variables[loop.variable] = first + trip * loop.step;
    sum += accesses(loop.body, variables);
  }
  return loop.uniform ? trips * sum : sum;
}

std::int64_t accesses(const Nest& nest) {
  Environment variables{};
  return accesses(nest.nodes, variables);
}

} // namespace recount::model
