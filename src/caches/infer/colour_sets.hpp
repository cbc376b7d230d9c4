// Ways and bytes per way from lines at chosen strides: the most probable shape, and how probable it is. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace recount::caches {

/// A number of lines at one stride, visited in turn.
struct StrideReading {
  std::int64_t stride = 0, lines = 0;
  double share = 0; ///< of the visits that miss: 0 when all fit, up to 1 and by noise beyond
};

/// The share of these lines at a stride that fall into sets with more lines than ways.
[[nodiscard]] double overfull_share(std::int64_t ways, std::int64_t way_bytes, std::int64_t stride,
                                    std::int64_t lines);

struct ShapeDecision {
  std::int64_t ways = 0, way_bytes = 0;
  double probability = 0; ///< among all shapes of 1 to 64 ways, given the readings
  double noise = 0;       ///< standard deviation of the share of lines that fit, fitted to these readings
};

/// Standard deviation of the shares of what fits: that of the normal component around 0 of a mixture with
/// anything else, fitted by expectation maximisation.
[[nodiscard]] double noise_of_fitting(std::span<const double> shares);

/// The shape with the highest posterior probability. A reading of lines that fit is normal around 0; one of
/// lines that do not lies anywhere from an eighth of the overfull share (random replacement keeps most of
/// them) upwards; one reading in twenty is a disturbance and says nothing. Nothing without readings.
[[nodiscard]] std::optional<ShapeDecision> decide_shape(std::span<const StrideReading> readings);

/// The most ways of one set: the same decision for lines of one set alone, as `lines` of each reading.
[[nodiscard]] std::optional<ShapeDecision> decide_ways(std::span<const StrideReading> readings);

} // namespace recount::caches
