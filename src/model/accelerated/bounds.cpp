#include "model/accelerated/nest.hpp"

#include <algorithm>

namespace recount::model {

namespace {

/// Least and greatest values of the variables of the loops around.
struct Ranges {
  Environment least{}, greatest{};

  [[nodiscard]] std::int64_t greatest_of(const Affine& form) const {
    std::int64_t sum = form.constant;
    for (std::size_t v = 0; v < nest_depth; ++v)
      sum += std::max(form.slope[v] * least[v], form.slope[v] * greatest[v]);
    return sum;
  }
  [[nodiscard]] std::int64_t least_of(const Affine& form) const { return -greatest_of(form * -1); }
};

void settle(std::vector<NestNode>& nodes, const Ranges& around) {
  for (NestNode& node : nodes) {
    auto* const loop = std::get_if<NestLoop>(&node);
    if (loop == nullptr) continue;
    Bound& last = loop->last;
    const Affine surplus = last.one + last.other * -1;
    if (around.greatest_of(surplus) <= 0)
      last.other = last.one;
    else if (around.least_of(surplus) >= 0)
      last.one = last.other;
    Ranges inside = around;
    const std::int64_t least = around.least_of(loop->first);
    std::int64_t greatest = std::min(around.greatest_of(last.one), around.greatest_of(last.other)) - 1;
    if (around.greatest_of(loop->first) == least) // turns by equal steps from one value
      greatest = std::max(least, greatest - (greatest - least) % loop->step);
    inside.least[loop->variable] = least;
    inside.greatest[loop->variable] = std::max(least, greatest);
    settle(loop->body, inside);
  }
}

} // namespace

void settle_bounds(Nest& nest) {
  settle(nest.nodes, {});
}

} // namespace recount::model
