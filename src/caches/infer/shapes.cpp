#include "caches/infer/shapes.hpp"

#include <algorithm>
#include <map>
#include <numeric>

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

} // namespace recount::caches
