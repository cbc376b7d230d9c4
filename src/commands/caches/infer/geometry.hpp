// Lines, ways and sets of one level where addresses choose the sets: evidence, hypotheses, conclusions.
#pragma once

#include "commands/caches/infer/sampler.hpp"
#include "kernel/loops/pattern.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::caches {

/// Bytes from one block to the next: twice the largest distance.
inline constexpr std::int64_t pair_block = 1024;

/// What both touches of a pair cost on average, as a share that leaves or in ns.
struct PairPoint {
  std::int64_t distance = 0; ///< bytes
  double near_first = 0, far_first = 0;
};

/// Pairs of visits in that many blocks, at distances from 8 bytes to half a block, doubling, each in both
/// orders.
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

/// Number of lines retained at that stride.
[[nodiscard]] std::int64_t lines_retained(const Shape& shape, std::int64_t stride);

/// Least common multiple; 0 when it exceeds 2^44, further than any pattern reaches.
[[nodiscard]] std::int64_t common_multiple(std::int64_t a, std::int64_t b);

/// What the levels above do to a level's evidence: lines that are multiples of `period` apart fall into one
/// set of each of them, and no more than `ways` such lines stay there.
struct Inner {
  std::int64_t ways = 0, period = 1;
};

/// The geometry of one level, with the readings behind it.
struct Geometry {
  Boundary onset; ///< bytes of the largest dense working set that fits and the smallest that does not
  std::int64_t onset_stride = 0;            ///< of that working set
  bool onset_hidden = false;                ///< the level above holds some of it: the capacity may be smaller
  std::vector<PairPoint> pairs;             ///< by rising distance
  std::optional<std::int64_t> line;         ///< bytes
  Reason line_unknown;                      ///< why it is not known
  bool prefetch_seen = false;               ///< the next line came along when lines were touched upwards
  std::vector<Conflict> conflicts;          ///< those that count as evidence
  bool inclusive = false;                   ///< evictions invalidate its lines in the levels above
  std::optional<Shape> shape;               ///< the one that is consistent with all evidence
  std::optional<std::int64_t> shifted_line; ///< second route: how far lines of one set may be shifted
  Reason unknown;                           ///< why capacity and ways are not known; empty: they are
  // Of find_noisy_geometry() only.
  bool line_by_shift = false; ///< the line is the second route's alone
  double probability = 0;     ///< of the shape, given the readings of all strides; 0: not estimated
};

/// The levels above and below.
struct Neighbours {
  Gauge* above = nullptr; ///< of the next level towards the core
  Gauge* below = nullptr;
  Inner inner;
  std::int64_t capacity_above = 0; ///< bytes
  std::int64_t line_above = 16;    ///< a stride that no line is shorter than
};

/// Fills in pairs, line and prefetch_seen, or line_unknown, from pairs in that many blocks: the first touch
/// must always leave the level.
void find_line_by_pairs(Geometry& geometry, Gauge& gauge, std::int64_t blocks);

/// From exact counts, where addresses choose the sets. Never throws for lack of evidence: the members give
/// the reasons.
[[nodiscard]] Geometry find_geometry(CachedSampler& cached, Gauge& gauge, const Neighbours& around);

/// From shares with noise, by time or by counters; `onset` is where a survey of working sets begins to rise,
/// in bytes. Never throws for lack of evidence: the members give the reasons.
[[nodiscard]] Geometry find_noisy_geometry(Gauge& gauge, std::int64_t onset);

} // namespace recount::caches
