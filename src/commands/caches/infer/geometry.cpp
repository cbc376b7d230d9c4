#include "commands/caches/infer/geometry.hpp"

#include "base/format.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/chunk_by.hpp>
#include <vector>

namespace recount::caches {

namespace {

constexpr double min_step = 1.2; ///< minimum ratio of the time of pairs far apart to that of close pairs
constexpr double together_most = 0.3, apart_least = 0.7; ///< of that step

std::optional<std::int64_t> line_in_order(std::span<const PairPoint> pairs, double PairPoint::*cost) {
  const double together = pairs.front().*cost, apart = pairs.back().*cost;
  if (apart < min_step * together) return {};
  std::optional<std::int64_t> line;
  for (const PairPoint& p : pairs) {
    const double place = (p.*cost - together) / (apart - together);
    if (place > together_most && place < apart_least) return {};
    if (place >= apart_least && !line) line = p.distance;
    if (place <= together_most && line) return {};
  }
  return line;
}

} // namespace

std::vector<kernel::Pattern> pair_patterns(std::int64_t blocks) {
  std::vector<kernel::Pattern> patterns;
  for (std::int64_t distance = 8; distance <= pair_block / 2; distance *= 2)
    for (const bool far_first : {false, true}) {
      kernel::Pattern& p = patterns.emplace_back(kernel::dense(blocks, pair_block));
      p.pair = distance;
      p.before = far_first;
    }
  return patterns;
}

std::vector<PairPoint> pair_points(std::span<const kernel::Pattern> patterns, std::span<const double> costs) {
  std::vector<PairPoint> points;
  for (std::size_t i = 0; i + 1 < patterns.size(); i += 2)
    points.push_back({patterns[i].pair, costs[i], costs[i + 1]});
  return points;
}

std::optional<LineFromPairs> line_from_pairs(std::span<const PairPoint> pairs) {
  if (pairs.empty()) return {};
  const auto near = line_in_order(pairs, &PairPoint::near_first),
             far = line_in_order(pairs, &PairPoint::far_first);
  if (!near && !far) return {};
  return LineFromPairs{std::min(near.value_or(pair_block), far.value_or(pair_block)), near != far};
}

void find_line_by_pairs(Geometry& geometry, Gauge& gauge, std::int64_t blocks) {
  const auto patterns = pair_patterns(blocks);
  geometry.pairs = pair_points(patterns, gauge.shares(patterns));
  const auto line = line_from_pairs(geometry.pairs);
  if (!line) {
    geometry.line_unknown = "the second access of a pair misses at no clear distance";
    return;
  }
  geometry.line = line->bytes;
  geometry.prefetch_seen = line->prefetch_seen;
}

std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
  std::int64_t multiple = 0;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &multiple)) return 0;
  return multiple <= std::int64_t{1} << 44 ? multiple : 0;
}

std::int64_t lines_retained(const Shape& shape, std::int64_t stride) {
  return shape.ways * (shape.way_bytes() / std::gcd(stride, shape.way_bytes()));
}

namespace {

constexpr std::int64_t max_ways = 64;       ///< of a cache with many sets
constexpr std::int64_t few_sets = 4;        ///< up to which any number of ways is thinkable
constexpr std::int64_t max_counted = 130;   ///< lines at one stride; more give no further evidence
constexpr std::size_t max_shapes = 50;      ///< that are tried out one by one
constexpr std::uint64_t trial_variants = 6; ///< ways of filling other sets, all of which a shape must satisfy
constexpr double reached = 0.98;            ///< share from which on every access counts as reaching the level

/// Whether lines at these places, bytes from a line's start, all fit their sets.
bool has_room(const Shape& shape, std::span<const std::uint64_t> places) {
  std::map<std::uint64_t, std::int64_t> held; // lines, by set
  return std::ranges::all_of(places, [&](std::uint64_t place) {
    const std::uint64_t line = place / static_cast<std::uint64_t>(shape.line);
    return ++held[line % static_cast<std::uint64_t>(shape.sets)] <= shape.ways;
  });
}

/// The shapes of `capacity` that predict every conflict. `hidden`: lines that the levels above retain, which
/// never miss here; 0 for an inclusive level.
std::vector<Shape> consistent_shapes(std::int64_t line, std::int64_t capacity,
                                     const std::vector<Conflict>& conflicts, std::int64_t hidden) {
  std::vector<Shape> shapes;
  const auto consider = [&](std::int64_t ways) {
    const Shape shape{line, ways, capacity / (line * ways)};
    if (shape.capacity() != capacity) return;
    const auto agrees = [&](const Conflict& c) {
      const std::int64_t stay = std::max(lines_retained(shape, c.stride), hidden);
      return stay >= c.lines.fits && (c.lines.exceeds == 0 || stay < c.lines.exceeds);
    };
    if (std::ranges::all_of(conflicts, agrees)) shapes.push_back(shape);
  };
  for (std::int64_t ways = 1; ways <= max_ways; ++ways)
    consider(ways);
  for (std::int64_t sets = 1; sets <= few_sets; ++sets)
    if (capacity / (line * sets) > max_ways) consider(capacity / (line * sets));
  return shapes;
}

/// Strides for conflicts that distinguish such shapes: multiples of inner.period by powers of two, and one
/// that every shape of the capacity must map to a single set.
std::vector<std::int64_t> telling_strides(std::int64_t line, std::int64_t capacity, const Inner& inner) {
  std::vector<std::int64_t> strides;
  std::int64_t stride = common_multiple(line, inner.period);
  if (stride == 0) return strides;
  while (stride < capacity / max_ways)
    stride *= 2;
  for (; stride < 2 * capacity; stride *= 2)
    strides.push_back(stride);
  if (const std::int64_t one_set = common_multiple(capacity, inner.period); one_set != 0)
    strides.push_back(one_set);
  return strides;
}

/// The choice of sets for filler lines, which evict the counted lines from the levels above.
struct Others {
  /// 0: sets by divisor, which caches of fewer sets still tell from the first; others: random sets. Odd ones:
  /// enough lines to evict all.
  std::uint64_t variant = 0;
  /// Sets that this shape keeps apart from the counted ones come first; may be null.
  const Shape* rival = nullptr;
};

/// Some of the sets 1 to sets - 1.
std::vector<std::int64_t> other_sets(std::int64_t sets, std::int64_t wanted, std::uint64_t variant,
                                     std::int64_t shared) {
  std::vector<std::int64_t> chosen;
  const auto choose = [&](std::int64_t set) {
    if (std::ranges::find(chosen, set) == chosen.end()) chosen.push_back(set);
  };
  if (shared > 0) {
    for (std::int64_t set = 1; set < sets && std::ssize(chosen) < wanted; ++set)
      if (set % shared != 0) choose(set);
  } else if (variant == 0) { // a cache of fewer sets maps multiples of a large divisor to set 0
    const std::int64_t most = std::min<std::int64_t>(sets, 4096);
    for (std::int64_t divisor = 1; divisor < most && std::ssize(chosen) < wanted; ++divisor)
      for (std::int64_t set = divisor; set < most && std::ssize(chosen) < wanted; set += divisor)
        if (std::gcd(set, sets) == divisor) choose(set);
  }
  while (std::ssize(chosen) < wanted)
    choose(1 + static_cast<std::int64_t>(base::random_below(variant, static_cast<std::uint64_t>(sets) - 1)));
  return chosen;
}

/// `count` lines of one set of a cache of this shape, and others in other sets of it: never more than
/// `shape.ways` of them in a set. Nothing when there is no room for as many as are needed.
std::optional<kernel::Pattern> in_one_set(const Shape& shape, std::int64_t count, const Inner& inner,
                                          const Others& others) {
  const std::int64_t period = common_multiple(shape.line, inner.period);
  const std::int64_t one_set = period == 0 ? 0 : common_multiple(period, shape.way_bytes());
  if (one_set == 0) return {};
  const std::int64_t sets = one_set / period; // that multiples of the period fall into
  kernel::Pattern p = kernel::dense(count, period);
  // Every line of the set, every second, every third: a cache of more sets distinguishes these.
  const auto step = static_cast<std::int64_t>(1 + others.variant / 2);
  for (std::int64_t i = 0; i < count; ++i)
    p.slots.push_back(i * step * sets);
  std::int64_t fillers = std::max<std::int64_t>(0, inner.ways + 1 - count);
  if (fillers > (sets - 1) * shape.ways) return {};
  // Many of them leave the levels above no room for any of the counted lines: what an exclusive level
  // holds is then seen alone.
  if (others.variant % 2 == 1) fillers = std::min(4 * inner.ways, (sets - 1) * shape.ways);
  // Sets of the rival repeat after this number of multiples of the period.
  const std::int64_t shared =
      others.rival == nullptr ? 0 : others.rival->way_bytes() / std::gcd(period, others.rival->way_bytes());
  const auto chosen = other_sets(sets, (fillers + shape.ways - 1) / shape.ways, others.variant, shared);
  for (std::int64_t i = 0; i < fillers; ++i)
    p.slots.push_back((count + i % shape.ways) * sets + chosen[static_cast<std::size_t>(i / shape.ways)]);
  p.count += fillers;
  return p;
}

using kernel::dense;
using kernel::Pattern;

/// Twice the ways of a set, half of them shifted: all fit once the shift reaches other sets.
std::vector<Pattern> shifted_patterns(const Shape& shape, std::int64_t stride, std::int64_t farthest) {
  std::vector<Pattern> all;
  for (std::int64_t shift = 8; shift <= farthest; shift *= 2) {
    Pattern& pattern = all.emplace_back(dense(2 * shape.ways, stride));
    pattern.shift = shift;
    pattern.wrap = 2;
  }
  return all;
}

class GeometryOfLevel {
public:
  GeometryOfLevel(CachedSampler& cached, Gauge& gauge, const Neighbours& around)
      : can_(cached.abilities()), gauge_(gauge), around_(around) {}

  Geometry find() {
    try {
      find_onset();
      find_line();
      refine_onset();
      find_conflicts();
      find_shape();
      find_shifted_line();
    } catch (const Unknown& unknown) {
      found_.unknown = unknown.reason;
      if (!found_.line && found_.line_unknown.empty()) found_.line_unknown = unknown.reason;
    }
    return std::move(found_);
  }

private:
  [[nodiscard]] bool fits(const Pattern& pattern) {
    return gauge_.judge(gauge_.share(pattern), pattern.visits()) == Fit::fits;
  }
  /// Whether every visit reaches this level at all.
  [[nodiscard]] bool reaches(const Pattern& pattern) {
    return around_.above == nullptr || around_.above->share(pattern) >= reached;
  }
  [[nodiscard]] bool leaves_level_below(const Pattern& pattern) {
    return around_.below != nullptr &&
           around_.below->judge(around_.below->share(pattern), pattern.visits()) != Fit::fits;
  }

  /// Doubles the working set until it misses, at a stride of at most one line.
  void find_onset() {
    const std::int64_t stride = around_.line_above;
    const std::int64_t first = std::max<std::int64_t>(around_.capacity_above, 256);
    const Family family = [&](std::int64_t bytes) { return dense(bytes / stride, stride); };
    found_.onset = double_until_exceeds(gauge_, family, first / stride * stride, can_.max_bytes);
    found_.onset_stride = stride;
    if (found_.onset.exceeds == 0)
      throw Unknown{
          fmt::format("no misses up to {}, the largest working set", base::format_bytes(found_.onset.fits))};
    if (found_.onset.fits == 0)
      throw Unknown{fmt::format("the smallest working set, {}, already misses",
                                base::format_bytes(found_.onset.exceeds))};
  }

  /// By pairs, in so many blocks that the first access of each always misses.
  void find_line() {
    std::int64_t count = std::max<std::int64_t>(16, 2 * found_.onset.exceeds / pair_block);
    for (int grown = 0; gauge_.share(pair_patterns(count).front()) < 0.45; ++grown, count *= 4)
      if (grown == 3 || 4 * count * pair_block > can_.max_bytes) {
        found_.line_unknown = "the first access to a block does not miss";
        return;
      }
    find_line_by_pairs(found_, gauge_, count);
  }

  void refine_onset() {
    if (!found_.line) throw Unknown{"it needs the line size, which is unknown"};
    // Every line of the first level is visited, so that each visit reaches this one.
    const std::int64_t stride = around_.above == nullptr ? *found_.line : around_.line_above;
    const Family family = [&](std::int64_t n) { return dense(n, stride); };
    const Boundary lines =
        narrow(gauge_, family, {found_.onset.fits / stride, found_.onset.exceeds / stride}, can_.at_once);
    found_.onset = {lines.fits * stride, lines.exceeds * stride};
    found_.onset_stride = stride;
    found_.onset_hidden = !reaches(family(lines.fits)) || !reaches(family(lines.exceeds));
    if (found_.onset_hidden) find_hidden_onset();
  }

  /// Where the level above always retains a part of the working set, columns of lines in one set of it reach
  /// this level. The capacity is the lines that fit in a column times the width of columns, in bytes, before
  /// they share sets.
  void find_hidden_onset() {
    const std::int64_t period = common_multiple(*found_.line, around_.inner.period);
    if (period == 0) throw Unknown{"the levels above have no common set period"};
    const Family column = [&](std::int64_t n) { return dense(n, period); };
    Boundary tall =
        double_until_exceeds(gauge_, column, around_.inner.ways + 1, 2 * found_.onset.exceeds / *found_.line);
    if (tall.fits == 0 || tall.exceeds == 0)
      throw Unknown{"the level above retains part of the working set at which this level overflows"};
    tall = narrow(gauge_, column, tall, can_.at_once);
    const Family columns = [&](std::int64_t width) {
      Pattern p = dense(tall.fits * width, *found_.line);
      for (std::int64_t i = 0; i < tall.fits; ++i)
        for (std::int64_t at = 0; at < width; ++at)
          p.slots.push_back(i * (period / *found_.line) + at);
      return p;
    };
    const std::int64_t widest =
        std::min(period / *found_.line, found_.onset.exceeds / (tall.fits * *found_.line) + 1);
    Boundary wide{widest, widest + 1};
    if (!fits(columns(widest))) wide = narrow(gauge_, columns, {1, widest}, can_.at_once);
    if (!reaches(columns(wide.fits))) throw Unknown{"the level above retains some of its lines"};
    found_.onset.fits = tall.fits * wide.fits * *found_.line;
    found_.onset.exceeds = found_.onset.fits + *found_.line;
    found_.onset_stride = *found_.line;
  }

  [[nodiscard]] std::int64_t capacity() const { return found_.onset.fits / *found_.line * *found_.line; }

  void find_conflicts() {
    for (const std::int64_t stride : telling_strides(*found_.line, capacity(), around_.inner))
      find_conflict(stride);
    found_.inclusive = std::ranges::any_of(found_.conflicts, [&](const Conflict& c) {
      return c.lines.exceeds != 0 && c.lines.fits < around_.inner.ways;
    });
  }

  void find_conflict(std::int64_t stride) {
    const Family family = [&](std::int64_t n) { return dense(n, stride); };
    Conflict conflict{stride, {max_counted, 0}};
    const bool leaves = !fits(family(max_counted));
    if (leaves) conflict.lines = narrow(gauge_, family, {0, max_counted}, can_.at_once);
    if (conflict.lines.fits > around_.inner.ways && !reaches(family(conflict.lines.fits))) return;
    // Drops a stride at which the level above still hits, or the level below overflows.
    if (leaves &&
        (!reaches(family(conflict.lines.exceeds)) || leaves_level_below(family(conflict.lines.exceeds))))
      return;
    found_.conflicts.push_back(conflict);
  }

  void find_shape() {
    // An inclusive level takes its lines back from the levels above.
    shapes_ = consistent_shapes(*found_.line, capacity(), found_.conflicts,
                                found_.inclusive ? 0 : around_.inner.ways);
    tell_apart();
    if (shapes_.empty())
      throw Unknown{fmt::format("no number of ways explains both the first misses between {} and {} bytes "
                                "and the conflicts at {}",
                                found_.onset.fits, found_.onset.exceeds,
                                base::format_count(found_.conflicts.size(), "stride"))};
    if (shapes_.size() > 1)
      throw Unknown{fmt::format("{} geometries are consistent with all readings", shapes_.size())};
    const Shape& shape = shapes_.front();
    if (around_.above != nullptr && around_.inner.period % shape.way_bytes() == 0 &&
        shape.line == around_.line_above && shape.ways > around_.inner.ways)
      throw Unknown{fmt::format("{}, or an exclusive level with {} fewer behind the one above: lines of one "
                                "set there fall into one set here",
                                base::format_count(shape.ways, "way"), around_.inner.ways)};
    found_.shape = shape;
  }

  /// Patterns on which shapes differ: as many lines of one set as a shape has ways, and one more, with other
  /// lines in all manner of other sets.
  [[nodiscard]] std::vector<Pattern> trials() const {
    std::vector<Pattern> all;
    const auto add = [&](const Shape& shape, std::int64_t lines, const Others& others) {
      auto pattern = in_one_set(shape, lines, around_.inner, others);
      if (!pattern) return;
      pattern->seed = static_cast<std::int64_t>(others.variant) + 1;
      all.push_back(*pattern);
    };
    for (const Shape& shape : shapes_) {
      for (std::uint64_t variant = 0; variant < trial_variants; ++variant)
        for (const std::int64_t lines : {shape.ways, shape.ways + 1})
          add(shape, lines, {variant, nullptr});
      for (const Shape& rival : shapes_)
        if (rival != shape) add(shape, shape.ways + 1, {0, &rival});
    }
    return all;
  }

  /// Keeps the shapes that predict the result of every trial.
  void tell_apart() {
    if (shapes_.empty() || shapes_.size() > max_shapes) return;
    const bool ordinary = shapes_.front().ways <= max_ways;
    bool overflow_seen = false;
    for (const Pattern& trial : trials()) {
      const bool all_fit = fits(trial);
      if (all_fit && !reaches(trial)) throw Unknown{"the level above retains some of its lines"};
      if (!all_fit && leaves_level_below(trial)) continue; // it may be the level below that overflows
      overflow_seen = overflow_seen || !all_fit;
      const auto places = kernel::places(trial);
      std::erase_if(shapes_, [&](const Shape& shape) { return has_room(shape, places) != all_fit; });
    }
    if (shapes_.empty()) return;
    if (!overflow_seen) throw Unknown{"the next level overflows at the same size"};
    if (!in_one_set(shapes_.front(), shapes_.front().ways, around_.inner, {}))
      throw Unknown{"it has no more ways than the level above"};
    // Only a shape of hundreds of ways is left though ordinary ones were candidates: rather noise than a
    // cache.
    if (shapes_.front().ways > max_ways && ordinary)
      throw Unknown{"no number of ways up to several hundred explains all readings"};
  }

  void find_shifted_line() {
    const Shape& shape = *found_.shape;
    const std::int64_t stride = common_multiple(shape.way_bytes(), around_.inner.period);
    if (stride == 0 || shape.ways <= around_.inner.ways || shape.sets == 1) return;
    for (const Pattern& p : shifted_patterns(shape, stride, 2 * shape.line))
      if (!fits(p))
        found_.shifted_line.reset();
      else if (!found_.shifted_line && reaches(p))
        found_.shifted_line = p.shift;
  }

  const Abilities& can_;
  Gauge& gauge_;
  const Neighbours& around_;
  std::vector<Shape> shapes_; ///< candidates
  Geometry found_;
};

} // namespace

Geometry find_geometry(CachedSampler& cached, Gauge& gauge, const Neighbours& around) {
  return GeometryOfLevel(cached, gauge, around).find();
}

namespace {

constexpr std::int64_t shortest_conflict = 512,
                       longest_conflict = std::int64_t{128} << 10; ///< strides, bytes
constexpr double min_probability = 0.99;                           ///< of a shape that is stated
constexpr double clear_miss = 0.2; ///< share: lines of one set overflow it, or sizes exceed the capacity
constexpr double begun = 0.1;      ///< share: some set overflows
constexpr std::int64_t narrowest_line = 16; ///< bytes
constexpr std::int64_t max_odd_ways = 5;    ///< of caches that were built

/// Lines at strides: every number of them where sets of ordinary ways overflow, fewer beyond.
std::vector<Pattern> conflict_patterns() {
  std::vector<std::int64_t> strides, counts(20);
  for (std::int64_t stride = shortest_conflict; stride <= longest_conflict; stride *= 2)
    strides.push_back(stride);
  for (const std::int64_t odd : {3, 5, 7}) // where the number of sets has an odd factor, these find it
    strides.push_back(odd * longest_conflict / 4);
  std::iota(counts.begin(), counts.end(), std::int64_t{2});
  for (const std::int64_t n :
       {24, 25, 30, 31, 32, 33, 34, 40, 41, 48, 49, 56, 57, 64, 65, 80, 81, 96, 97, 128, 129})
    counts.push_back(n);
  std::vector<Pattern> patterns;
  for (const std::int64_t stride : strides)
    for (const std::int64_t n : counts)
      if (stride < 4096 || n <= 65) patterns.push_back(dense(n, stride));
  return patterns;
}

class NoisyGeometry {
public:
  NoisyGeometry(Gauge& gauge, std::int64_t onset) : gauge_(gauge), onset_(onset) {}

  Geometry find() {
    const auto blocks =
        2 * static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(onset_))) / pair_block;
    try {
      find_line_by_pairs(found_, gauge_, std::max<std::int64_t>(16, blocks));
    } catch (const Unknown& unknown) {
      found_.line_unknown = unknown.reason;
    }
    try {
      decide();
      confirm();
      find_shifted_line();
    } catch (const Unknown& unknown) {
      found_.unknown = unknown.reason;
    }
    return std::move(found_);
  }

private:
  struct Measured {
    Pattern pattern;
    double share = 0;
  };
  /// The patterns whose share can be had.
  [[nodiscard]] std::vector<Measured> measure(const std::vector<Pattern>& patterns) {
    const auto shares = gauge_.measure(patterns);
    std::vector<Measured> all;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (shares[i].value)
        all.push_back({patterns[i], *shares[i].value});
      else
        missing_ = shares[i].unknown;
    return all;
  }

  void decide() {
    std::vector<StrideReading> readings;
    for (const Measured& m : measure(conflict_patterns()))
      readings.push_back({m.pattern.stride, m.pattern.count, m.share});
    const auto decision = decide_shape(readings);
    if (!decision) throw Unknown{missing_};
    for (const auto of_stride :
         readings | ranges::views::chunk_by([](const auto&a, const auto&b) { return a.stride == b.stride; }))
      add_conflict(of_stride | ranges::to<std::vector>);
    found_.probability = decision->probability;
    if (decision->probability < min_probability)
      throw Unknown{
          missing_.empty()
              ? fmt::format("no number of ways explains the conflicts at {} with a probability above {}",
                            base::format_count(found_.conflicts.size(), "stride"), min_probability)
              : missing_};
    const std::int64_t line = found_.line.value_or(64);
    found_.shape = {line, decision->ways, std::max<std::int64_t>(1, decision->way_bytes / line)};
    if (found_.shape->way_bytes() != decision->way_bytes) throw Unknown{"a way is no multiple of a line"};
  }

  /// Splits the readings of a stride, in ascending lines, into hits and misses with the fewest on the wrong
  /// side.
  void add_conflict(const std::vector<StrideReading>& readings) {
    if (readings.size() < 2) return;
    std::size_t best = 0;
    auto fewest = std::ssize(readings);
    for (std::size_t fit = 0; fit <= readings.size(); ++fit) {
      const auto split = readings.begin() + static_cast<std::ptrdiff_t>(fit);
      const auto missed = [](const StrideReading& r) { return r.share >= clear_miss; };
      const auto wrong = std::count_if(readings.begin(), split, missed) +
                         (readings.end() - split - std::count_if(split, readings.end(), missed));
      if (wrong >= fewest) continue;
      fewest = wrong;
      best = fit;
    }
    found_.conflicts.push_back(
        {readings.front().stride,
         {best > 0 ? readings[best - 1].lines : 0, best < readings.size() ? readings[best].lines : 0}});
  }

  /// Working sets, one visit per line: they begin to miss at the capacity.
  void confirm() {
    const Shape& shape = *found_.shape;
    const std::int64_t capacity = shape.capacity(), line = shape.line, lines = capacity / line;
    std::vector<Pattern> patterns;
    for (const double part : {0.5, 0.625, 0.75, 0.8125, 0.875, 0.9375, 0.97, 1.0, 1.02, 1.04, 1.0625, 1.125,
                              1.1875, 1.25, 1.375, 1.5, 1.75, 2.0})
      patterns.push_back(dense(std::llround(part * static_cast<double>(lines)), line));
    for (double size = 2048; size < 4 * static_cast<double>(capacity);
         size *= std::exp2(0.25)) // of the survey
      patterns.push_back(dense(std::llround(size / 1024) * 1024 / 64, 64));
    std::ranges::sort(patterns, {}, [](const Pattern& p) { return p.count * p.stride; });
    Boundary& onset = found_.onset;
    found_.onset_stride = line;
    for (const auto& [pattern, share] : measure(patterns)) {
      const std::int64_t bytes = pattern.count * pattern.stride;
      if (share <= begun)
        onset = {bytes, 0};
      else if (onset.exceeds == 0)
        onset.exceeds = bytes;
    }
    // Up to two lines per set of the shape may be in use by the system; a quarter more overflows most sets.
    // With other replacement than LRU a quarter more still mostly fits. An odd number of ways above 5 may be
    // what others leave of a larger cache: its misses must begin at most 1/16 beyond.
    const std::int64_t beyond =
        shape.ways % 2 == 1 && shape.ways > max_odd_ways ? capacity / 16 : capacity / 4;
    const bool agrees = onset.fits >= capacity - capacity / 4 && onset.fits <= capacity + beyond &&
                        onset.exceeds > capacity - capacity / 8 && onset.exceeds <= capacity + capacity / 2;
    if (!agrees)
      throw Unknown{fmt::format("conflict misses show {} in {}, but misses begin between {} and {}",
                                base::format_bytes(capacity), base::format_count(shape.ways, "way"),
                                base::format_bytes(onset.fits),
                                onset.exceeds == 0 ? "any size" : base::format_bytes(onset.exceeds))};
  }

  void find_shifted_line() {
    const Shape shape = *found_.shape;
    if (shape.sets == 1) return;
    const std::int64_t farthest = 4 * std::max(narrowest_line, shape.line);
    for (const auto& [pattern, share] : measure(shifted_patterns(shape, shape.way_bytes(), farthest))) {
      if (share >= clear_miss)
        found_.shifted_line.reset();
      else if (!found_.shifted_line)
        found_.shifted_line = pattern.shift;
    }
    if (found_.line || !found_.shifted_line || *found_.shifted_line < narrowest_line) return;
    found_.line = found_.shifted_line;
    found_.line_by_shift = true;
    found_.shape = {*found_.line, shape.ways, shape.way_bytes() / *found_.line};
  }

  Gauge& gauge_;
  std::int64_t onset_;  ///< bytes
  std::string missing_; ///< why a pattern was not measured; empty: all were
  Geometry found_;
};

} // namespace

Geometry find_noisy_geometry(Gauge& gauge, std::int64_t onset) {
  return NoisyGeometry(gauge, onset).find();
}

} // namespace recount::caches
