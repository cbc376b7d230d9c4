#include "caches/infer/shapes.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace recount::caches {

namespace {

constexpr std::int64_t most_ways = 64; ///< of a cache with many sets
constexpr std::int64_t few_sets = 4;   ///< up to which any number of ways is thinkable

/// `hidden`: that many lines are held by the levels above, however few this one has room for.
bool agrees(const Shape& shape, const Conflict& conflict, std::int64_t hidden) {
  const std::int64_t stay = std::max(lines_retained(shape, conflict.stride), hidden);
  return stay >= conflict.lines.fits && (conflict.lines.exceeds == 0 || stay < conflict.lines.exceeds);
}

} // namespace

std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
  std::int64_t multiple = 0;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &multiple)) return 0;
  return multiple <= std::int64_t{1} << 44 ? multiple : 0;
}

std::int64_t lines_retained(const Shape& shape, std::int64_t stride) {
  return shape.ways * (shape.way_bytes() / std::gcd(stride, shape.way_bytes()));
}

bool has_room(const Shape& shape, std::span<const std::uint64_t> places) {
  std::map<std::uint64_t, std::int64_t> held; // lines, by set
  return std::ranges::all_of(places, [&](std::uint64_t place) {
    const std::uint64_t line = place / static_cast<std::uint64_t>(shape.line);
    return ++held[line % static_cast<std::uint64_t>(shape.sets)] <= shape.ways;
  });
}

std::vector<Shape> consistent_shapes(std::int64_t line, std::int64_t least, std::int64_t most,
                                     const std::vector<Conflict>& conflicts, const Inner& inner,
                                     std::size_t outliers) {
  std::vector<Shape> shapes;
  // Once fewer lines leave than the levels above hold, this level takes its lines back from them.
  const bool inclusive = std::ranges::any_of(
      conflicts, [&](const Conflict& c) { return c.lines.exceeds != 0 && c.lines.fits < inner.ways; });
  const std::int64_t hidden = inclusive ? 0 : inner.ways;
  const auto consider = [&](const Shape& shape) {
    if (shape.capacity() < least || shape.capacity() > most) return;
    const auto against =
        std::ranges::count_if(conflicts, [&](const Conflict& c) { return !agrees(shape, c, hidden); });
    if (static_cast<std::size_t>(against) <= outliers) shapes.push_back(shape);
  };
  for (std::int64_t ways = 1; ways <= most_ways; ++ways) {
    const std::int64_t way = line * ways;
    for (std::int64_t sets = (least + way - 1) / way; sets <= most / way; ++sets)
      consider({line, ways, sets});
  }
  for (std::int64_t sets = 1; sets <= few_sets; ++sets)
    for (std::int64_t ways = std::max(most_ways + 1, least / (line * sets)); ways <= most / (line * sets);
         ++ways)
      consider({line, ways, sets});
  return shapes;
}

std::vector<std::int64_t> telling_strides(std::int64_t line, std::int64_t least, std::int64_t most,
                                          const Inner& inner) {
  std::vector<std::int64_t> strides;
  const std::int64_t unit = common_multiple(line, inner.period);
  if (unit == 0) return strides;
  std::int64_t stride = unit;
  while (stride < least / most_ways)
    stride *= 2;
  for (; stride < 2 * most; stride *= 2)
    strides.push_back(stride);
  if (least == most) {
    if (const std::int64_t one_set = common_multiple(least, inner.period); one_set != 0)
      strides.push_back(one_set);
    return strides;
  }
  // Where the number of sets has a factor that is no power of two, these find it.
  for (const std::int64_t odd : {3, 5, 7})
    for (stride = odd * unit; stride < 2 * most; stride *= 2)
      if (stride >= most) strides.push_back(stride);
  return strides;
}

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
