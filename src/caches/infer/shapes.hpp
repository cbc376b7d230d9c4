// Which caches are consistent with what was seen: hypotheses that the evidence must rule out. Pure.
#pragma once

#include "caches/infer/gauge.hpp"
#include "kernel/loops/pattern.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::caches {

/// A set-associative cache: an address belongs to set (address / line) mod sets.
struct Shape {
  std::int64_t line = 0, ways = 0, sets = 0;
  [[nodiscard]] std::int64_t way_bytes() const { return line * sets; }
  [[nodiscard]] std::int64_t capacity() const { return line * sets * ways; }
  bool operator==(const Shape&) const = default;
};

/// Lines retained at a stride: all up to lines.fits, not lines.exceeds (0: never seen).
struct Conflict {
  std::int64_t stride = 0;
  Boundary lines;
};

/// What the levels above do to a level's evidence: lines that are multiples of `period` apart fall into one
/// set of each of them, and no more than `ways` such lines stay there.
struct Inner {
  std::int64_t ways = 0, period = 1;
};

/// Number of lines retained at that stride.
[[nodiscard]] std::int64_t lines_retained(const Shape& shape, std::int64_t stride);

/// Whether lines at these places, bytes from a line's start, all fit their sets.
[[nodiscard]] bool has_room(const Shape& shape, std::span<const std::uint64_t> places);

/// Every shape with a capacity in [least, most] bytes that agrees with all conflicts. Fewer lines than the
/// levels above hold never miss, unless the level is inclusive.
/// `outliers`: conflicts that may disagree, where noise can spoil one.
[[nodiscard]] std::vector<Shape> consistent_shapes(std::int64_t line, std::int64_t least, std::int64_t most,
                                                   const std::vector<Conflict>& conflicts, const Inner& inner,
                                                   std::size_t outliers = 0);

/// Strides for conflicts that distinguish such shapes: multiples of inner.period by powers of two, and if
/// the capacity is known exactly (`least` == `most`) one that every shape of it must map to a single set.
[[nodiscard]] std::vector<std::int64_t> telling_strides(std::int64_t line, std::int64_t least,
                                                        std::int64_t most, const Inner& inner);

/// Least common multiple; 0 when it exceeds 2^44, further than any pattern reaches.
[[nodiscard]] std::int64_t common_multiple(std::int64_t a, std::int64_t b);

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
