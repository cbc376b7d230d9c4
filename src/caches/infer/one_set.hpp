// Lines of one set of a level that all reach it, whatever the levels above hold.
#pragma once

#include "caches/infer/shapes.hpp"
#include "kernel/loops/pattern.hpp"

#include <cstdint>
#include <optional>

namespace recount::caches {

/// Which other sets the lines go to that push the counted ones out of the levels above.
struct Others {
  /// 0: sets that caches of fewer sets would still distinguish from the first; others: random sets. Odd
  /// variants use enough lines to evict every counted line from the levels above.
  std::uint64_t variant = 0;
  /// When given, sets that this shape would not take for the counted lines' own come first.
  const Shape* apart_for = nullptr;
};

/// `count` lines of one set of a cache of this shape, and others in other sets of it: never more than
/// `shape.ways` of them in a set. Nothing when there is no room for as many as are needed.
[[nodiscard]] std::optional<kernel::Pattern> in_one_set(const Shape& shape, std::int64_t count,
                                                        const Inner& inner, const Others& others);

} // namespace recount::caches
