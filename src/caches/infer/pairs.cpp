#include "caches/infer/pairs.hpp"

#include <algorithm>

namespace recount::caches {

namespace {

constexpr double least_step = 1.2; ///< minimum ratio of the time of pairs far apart to that of close pairs
constexpr double together_most = 0.3, apart_least = 0.7; ///< of that step

std::optional<std::int64_t> line_in_order(std::span<const PairPoint> pairs, double PairPoint::*cost) {
  const double together = pairs.front().*cost, apart = pairs.back().*cost;
  if (apart < least_step * together) return {};
  std::optional<std::int64_t> line;
  for (const PairPoint& p : pairs) {
    const double place = (p.*cost - together) / (apart - together);
    if (place > together_most && place < apart_least) return {};
    if (place >= apart_least && !line) line = p.distance;
    if (place <= together_most && line) return {};
  }
  return line;
}

} // namespace

kernel::Pattern pair_pattern(std::int64_t blocks, std::int64_t distance, bool far_first) {
  kernel::Pattern p = kernel::dense(blocks, pair_block);
  p.pair = distance;
  p.before = far_first;
  return p;
}

std::vector<kernel::Pattern> pair_patterns(std::int64_t blocks) {
  std::vector<kernel::Pattern> patterns;
  for (std::int64_t distance = 8; distance <= pair_block / 2; distance *= 2)
    for (const bool far_first : {false, true})
      patterns.push_back(pair_pattern(blocks, distance, far_first));
  return patterns;
}

std::vector<PairPoint> pair_points(std::span<const kernel::Pattern> patterns, std::span<const double> costs) {
  std::vector<PairPoint> points;
  for (std::size_t i = 0; i + 1 < patterns.size(); i += 2)
    points.push_back({patterns[i].pair, costs[i], costs[i + 1]});
  return points;
}

std::optional<LineFromPairs> line_from_pairs(std::span<const PairPoint> pairs) {
  if (pairs.empty()) return {};
  const auto near = line_in_order(pairs, &PairPoint::near_first),
             far = line_in_order(pairs, &PairPoint::far_first);
  if (!near && !far) return {};
  return LineFromPairs{std::min(near.value_or(pair_block), far.value_or(pair_block)), near != far};
}

} // namespace recount::caches
