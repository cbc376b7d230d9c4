// The place where a growing pattern begins to leave a level.
#pragma once

#include "caches/infer/gauge.hpp"

#include <cstdint>
#include <functional>

namespace recount::analysis {

/// A growing family of patterns: the n-th has n elements, or n times some size.
using Family = std::function<kernel::Pattern(std::int64_t n)>;

/// The largest n known to stay and the smallest known to leave. Neighbours when all is clear.
struct Boundary {
  std::int64_t stays = 0, leaves = 0;
  [[nodiscard]] bool sharp() const { return leaves - stays == 1; }
};

/// Narrows a boundary as far as the gauge can tell. `from` is taken to stay and `to` to leave.
[[nodiscard]] Boundary narrow(Gauge& gauge, const Family& family, Boundary from, std::size_t at_once);

/// Doubles from `first` until a member leaves; it is taken that what is below stays. `most`: where to give
/// up; Boundary::leaves is then 0. A first member that leaves already gives stays 0.
[[nodiscard]] Boundary double_until_leaves(Gauge& gauge, const Family& family, std::int64_t first,
                                           std::int64_t most);

} // namespace recount::analysis
