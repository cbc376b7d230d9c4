// Ways and bytes per way from lines at chosen strides: the most probable shape, and how probable it is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace recount::caches {

/// A number of lines at one stride, visited in turn.
struct StrideReading {
  std::int64_t stride = 0, lines = 0;
  double share = 0; ///< of the visits that miss: 0 when all fit, up to 1 and by noise beyond
};

struct ShapeDecision {
  std::int64_t ways = 0, way_bytes = 0;
  double probability = 0; ///< among all shapes of 1 to 64 ways, given the readings
};

/// The shape with the highest posterior probability. A reading of lines that fit is normal around 0, with a
/// deviation fitted to the readings. One of lines that do not fit lies anywhere from an eighth of the lines
/// in sets with more lines than ways (random replacement keeps most of them) upwards. One reading in twenty
/// is a disturbance and tells nothing. No shape without readings.
[[nodiscard]] std::optional<ShapeDecision> decide_shape(std::span<const StrideReading> readings);

/// The ways of one set: the same decision for lines of one set alone, as `lines` of each reading.
[[nodiscard]] std::optional<ShapeDecision> decide_ways(std::span<const StrideReading> readings);

} // namespace recount::caches
