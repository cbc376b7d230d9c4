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

// Ways, line and number of sets of a level from page colours; ways and way size from lines at strides; the
// search for page colours.

// Ways and bytes per way from lines at chosen strides: the most probable shape, and how probable it is. Pure.

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

inline constexpr std::size_t min_colours = 3; ///< that must agree; fewer may be noise
inline constexpr std::int64_t surely_fit = 4; ///< lines of one colour: no second level has fewer ways

/// What the lines of one colour showed.
struct ColourTrial {
  std::int64_t page = 0;            ///< of the colour, to name it
  std::optional<std::int64_t> ways; ///< nothing: undecided
  std::optional<std::int64_t> line; ///< bytes
};

struct ColourSets {
  std::vector<ColourTrial> trials;
  std::optional<std::int64_t> ways, line;   ///< what most colours show
  std::size_t with_ways = 0, with_line = 0; ///< colours that show these values
  double probability = 0;                   ///< of the ways, given the readings of all colours
  std::string ways_unknown;
};

[[nodiscard]] ColourSets decide_colour_sets(const PageColours& colours);

struct ColourNumber {
  std::int64_t colours = 0;               ///< the most probable number; 0: nothing was sampled
  double probability = 0;                 ///< of it
  std::int64_t least = 0, most = 0;       ///< the number lies between these with a probability of 0.99
  [[nodiscard]] double tolerance() const; ///< of the number, so that the interval lies within
};

/// `groups` colours are known, and of `sample` pages that took no part in finding them, `in_sample` have one
/// of these. Pages are placed at random, so each colour has the same share of them, apart from pages that
/// noise hides or assigns to a known colour. Numbers of sets are powers of two, sometimes times 3 or 5; where
/// exclusive ors of address bits choose the set, powers of two.
[[nodiscard]] ColourNumber number_of_colours(std::int64_t groups, std::int64_t sample, std::int64_t in_sample,
                                             bool of_address_bits = false);

/// How many colours a level has.
struct CountedColours {
  double colours = 0, probability = 0, tolerance = 0;
  bool stated = false;  ///< no estimate
  bool sampled = false; ///< from the share of a sample
};
[[nodiscard]] CountedColours count_colours(const PageColours& found, std::int64_t ways);

// The search for page colours: pages whose lines fall into the same sets of a level.

/// What the search needs to know of the level and of those above it; times in ns per visit.
struct ColourTask {
  double hit = 0, penalty = 0;         ///< of a hit in the level; of a miss, beyond that
  std::int64_t line = 64, page = 4096; ///< bytes
  std::int64_t pages = 0;              ///< to try: several times the capacity of the level
  std::int64_t capacity = 0;           ///< pages that the level holds, about
  std::int64_t sample = 0;             ///< of `pages`: kept out of the search, to count the colours with
  std::int64_t ways_above = 0;         ///< of the level above
  std::int64_t page_sets_above = 1;    ///< sets of the level above that lines at one page offset map to
  std::uint64_t seed = 1;
  std::int64_t lines = 0, distance = 0; ///< visited in each page, and the bytes from one to the next
};

/// Pages of one colour share all of their sets, others none, if address bits or exclusive ors of them choose
/// the set. Pages are added until a set overflows and removed again while it still does, which leaves
/// ways + 1 pages of one colour; the other pages are tried in their place. This is the reduction of eviction
/// sets of Vila, Koepf and Morales, "Theory and Practice of Finding Eviction Sets", IEEE Symposium on
/// Security and Privacy 2019. It ends when no pages overflow any more, or when the known colours' share of
/// the sample tells how many colours there are. The visited lines of a page are the fewest that overflow the
/// level at the same number of pages as all of its lines do. Readings of the colours are taken for
/// decide_colour_sets(). PageColours::unknown is set when the sampler has no quick_time(), no set overflows,
/// noise hides which pages it takes, or the time is over.
[[nodiscard]] PageColours find_colours(Sampler& sampler, const ColourTask& task);

} // namespace recount::caches
