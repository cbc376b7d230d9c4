#include "caches/infer/shapes.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace recount::caches {

namespace {

/// Some of the sets 1 to sets - 1.
std::vector<std::int64_t> other_sets(std::int64_t sets, std::int64_t wanted, std::uint64_t variant,
                                     std::int64_t shared) {
  std::vector<std::int64_t> chosen;
  const auto choose = [&](std::int64_t set) {
    if (std::ranges::find(chosen, set) == chosen.end()) chosen.push_back(set);
  };
  if (shared > 0) {
    for (std::int64_t set = 1; set < sets && std::ssize(chosen) < wanted; ++set)
      if (set % shared != 0) choose(set);
  } else if (variant == 0) { // a cache of fewer sets would have those of large divisors in common with set 0
    const std::int64_t most = std::min<std::int64_t>(sets, 4096);
    for (std::int64_t divisor = 1; divisor < most && std::ssize(chosen) < wanted; ++divisor)
      for (std::int64_t set = divisor; set < most && std::ssize(chosen) < wanted; set += divisor)
        if (std::gcd(set, sets) == divisor) choose(set);
  }
  while (std::ssize(chosen) < wanted)
    choose(1 + static_cast<std::int64_t>(base::random_below(variant, static_cast<std::uint64_t>(sets) - 1)));
  return chosen;
}

} // namespace

std::optional<kernel::Pattern> in_one_set(const Shape& shape, std::int64_t count, const Inner& inner,
                                          const Others& others) {
  const std::int64_t period = common_multiple(shape.line, inner.period);
  const std::int64_t one_set = period == 0 ? 0 : common_multiple(period, shape.way_bytes());
  if (one_set == 0) return {};
  const std::int64_t sets = one_set / period; // that multiples of the period fall into
  kernel::Pattern p = kernel::dense(count, period);
  // Every line of the set, every second, every third: a cache of more sets distinguishes these.
  const auto step = static_cast<std::int64_t>(1 + others.variant / 2);
  for (std::int64_t i = 0; i < count; ++i)
    p.slots.push_back(i * step * sets);
  std::int64_t fillers = std::max<std::int64_t>(0, inner.ways + 1 - count);
  if (fillers > (sets - 1) * shape.ways) return {};
  // Many of them leave the levels above no room for any of the counted lines: what an exclusive level
  // holds is then seen alone.
  if (others.variant % 2 == 1) fillers = std::min(4 * inner.ways, (sets - 1) * shape.ways);
  // Sets of the rival repeat after this number of multiples of the period.
  const std::int64_t shared =
      others.apart_for == nullptr
          ? 0
          : others.apart_for->way_bytes() / std::gcd(period, others.apart_for->way_bytes());
  const auto chosen = other_sets(sets, (fillers + shape.ways - 1) / shape.ways, others.variant, shared);
  for (std::int64_t i = 0; i < fillers; ++i)
    p.slots.push_back((count + i % shape.ways) * sets + chosen[static_cast<std::size_t>(i / shape.ways)]);
  p.count += fillers;
  return p;
}

} // namespace recount::caches
