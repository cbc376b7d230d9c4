// How long a line is: two touches at a distance, in blocks visited at random.
#pragma once

#include "kernel/loops/pattern.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace recount::caches {

/// Bytes from one block to the next: twice the largest distance.
inline constexpr std::int64_t pair_block = 1024;

/// What both touches of a pair cost on average, as a share that leaves or in ns.
struct PairPoint {
  std::int64_t distance = 0; ///< bytes
  double near_first = 0, far_first = 0;
};

[[nodiscard]] kernel::Pattern pair_pattern(std::int64_t blocks, std::int64_t distance, bool far_first);
/// Distances from 8 bytes to half a block, doubling, each in both orders.
[[nodiscard]] std::vector<kernel::Pattern> pair_patterns(std::int64_t blocks);
[[nodiscard]] std::vector<PairPoint> pair_points(std::span<const kernel::Pattern> patterns,
                                                 std::span<const double> costs);

struct LineFromPairs {
  std::int64_t bytes = 0;
  bool prefetch_seen = false; ///< in ascending order longer distances hit together than in descending order
};
/// The distance from which on the second touch costs what the first one does. Nothing when there is no clear
/// one, or when the two orders agree on none. Pure.
[[nodiscard]] std::optional<LineFromPairs> line_from_pairs(std::span<const PairPoint> pairs);

} // namespace recount::caches
