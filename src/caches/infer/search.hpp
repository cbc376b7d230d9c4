// The size at which a growing pattern no longer fits a level.
#pragma once

#include "caches/infer/gauge.hpp"

#include <cstdint>
#include <functional>

namespace recount::caches {

/// A growing family of patterns: the n-th has n elements, or n times some size.
using Family = std::function<kernel::Pattern(std::int64_t n)>;

/// The largest n known to fit and the smallest known not to. Consecutive without noise.
struct Boundary {
  std::int64_t fits = 0, exceeds = 0;
  [[nodiscard]] bool sharp() const { return exceeds - fits == 1; }
};

/// Narrows a boundary as far as the gauge can tell. `from` is assumed to fit and `to` not to.
[[nodiscard]] Boundary narrow(Gauge& gauge, const Family& family, Boundary from, std::size_t at_once);

/// Doubles from `first` until a member does not fit; smaller ones are assumed to fit. Above `most` it ends
/// with Boundary::exceeds 0. A first member that does not fit gives fits 0.
[[nodiscard]] Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first,
                                            std::int64_t most);

} // namespace recount::caches
