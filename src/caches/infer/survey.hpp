// The curve of access time against the size of the working set, and its plateaus.
#pragma once

#include "caches/infer/sampler.hpp"

#include <optional>
#include <vector>

namespace recount::caches {

/// One dense working set.
struct SizePoint {
  std::int64_t bytes = 0;
  double ns = 0; ///< per access
  /// Reading::repeated_ns / ns: 1 where rounds agree, or are not distinguished.
  double spread = 1;
  bool disturbed = false; ///< every round was interrupted
};

/// Times of dense working sets from 2 KiB to `most` bytes, by rising size. Throws Unknown where a time is
/// missing.
[[nodiscard]] std::vector<SizePoint> survey(CachedSampler& cached, std::int64_t most);
/// The pattern of one of its points.
[[nodiscard]] kernel::Pattern survey_pattern(std::int64_t bytes);

/// The time of the flattest stretch of at least three points with sizes in [from, to]; nothing when times
/// there differ by more than a tenth everywhere.
[[nodiscard]] std::optional<double> flattest(const std::vector<SizePoint>& curve, std::int64_t from,
                                             std::int64_t to);
/// The least time that several points share: one alone that is less is an error. Of a curve that is not
/// empty.
[[nodiscard]] double floor_of(const std::vector<SizePoint>& curve);
/// Whether as many points as `floor_points` are within 1 % of it, and fewer are below: else noise decides it.
[[nodiscard]] bool agree_at_floor(const std::vector<SizePoint>& curve);
inline constexpr std::size_t floor_points = 4;
/// Why no time can be stated from the points with sizes in [from, to]: every round of them was interrupted,
/// or their rounds differ by more than a third. Empty: one can.
[[nodiscard]] std::string noise_of(const std::vector<SizePoint>& curve, std::int64_t from, std::int64_t to);
/// The first size from which on every time exceeds `limit` ns; 0: there is none.
[[nodiscard]] std::int64_t first_above(const std::vector<SizePoint>& curve, double limit);

} // namespace recount::caches
