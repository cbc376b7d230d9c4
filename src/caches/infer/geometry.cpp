#include "caches/infer/geometry.hpp"

#include "base/format.hpp"
#include "caches/infer/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

constexpr std::int64_t most_counted = 130;  ///< lines at one stride; more give no further evidence
constexpr std::int64_t ordinary_ways = 64;  ///< at most
constexpr std::size_t most_shapes = 50;     ///< that are tried out one by one
constexpr std::uint64_t trial_variants = 6; ///< ways of filling other sets, all of which a shape must satisfy
constexpr double reached = 0.98;            ///< share from which on every access counts as reaching the level

class GeometryOfLevel {
public:
  GeometryOfLevel(CachedSampler& cached, Gauge& gauge, const Neighbours& around)
      : sampler_cache_(cached), can_(cached.abilities()), gauge_(gauge), around_(around) {}

  Geometry find() {
    try {
      find_onset();
      find_line();
      refine_onset();
      find_conflicts();
      find_shapes();
      find_shifted_line();
    } catch (const Unknown& unknown) {
      found_.unknown = unknown.reason;
      if (!found_.line && found_.line_unknown.empty()) found_.line_unknown = unknown.reason;
    }
    return std::move(found_);
  }

private:
  [[nodiscard]] Fit verdict(const Pattern& pattern) {
    return gauge_.judge(gauge_.share(pattern), pattern.visits());
  }
  /// Whether every visit reaches this level at all.
  [[nodiscard]] bool reaches(const Pattern& pattern) {
    return around_.above == nullptr || around_.above->share(pattern) >= reached;
  }

  [[nodiscard]] bool below_leaves(const Pattern& pattern) {
    return around_.below != nullptr &&
           around_.below->judge(around_.below->share(pattern), pattern.visits()) != Fit::fits;
  }

  /// Doubling sizes, at a stride that no line is shorter than.
  void find_onset() {
    const std::int64_t stride = around_.line_above;
    const std::int64_t first = std::max<std::int64_t>(around_.capacity_above, 256);
    const Family family = [&](std::int64_t bytes) { return dense(bytes / stride, stride); };
    const Boundary b = double_until_exceeds(gauge_, family, first / stride * stride, can_.most_bytes);
    if (b.exceeds == 0)
      throw Unknown{fmt::format("no misses up to {}, the largest working set", base::format_bytes(b.fits))};
    if (b.fits == 0)
      throw Unknown{
          fmt::format("the smallest working set, {}, already misses", base::format_bytes(b.exceeds))};
    found_.onset = b;
    found_.onset_stride = stride;
  }

  /// Pairs in random blocks: the first touch always leaves the level, the second only when it is in another
  /// line.
  void find_line() {
    std::int64_t count = std::max<std::int64_t>(16, 2 * found_.onset.exceeds / pair_block);
    for (int grown = 0; gauge_.share(pair_pattern(count, 8, false)) < 0.45; ++grown, count *= 4)
      if (grown == 3 || 4 * count * pair_block > can_.most_bytes) {
        found_.line_unknown = "the first access to a block does not miss";
        return;
      }
    const auto patterns = pair_patterns(count);
    found_.pairs = pair_points(patterns, gauge_.shares(patterns));
    const auto line = line_from_pairs(found_.pairs);
    if (!line) {
      found_.line_unknown = "the second access of a pair misses at no clear distance";
      return;
    }
    found_.line = line->bytes;
    found_.prefetch_seen = line->prefetch_seen;
  }

  void refine_onset() {
    if (!found_.line) throw Unknown{"it needs the line size, which is unknown"};
    // Every line of the first level is visited, so that each visit asks this one.
    const std::int64_t stride = around_.above == nullptr ? *found_.line : around_.line_above;
    const Family family = [&](std::int64_t n) { return dense(n, stride); };
    const Boundary lines =
        narrow(gauge_, family, {found_.onset.fits / stride, found_.onset.exceeds / stride}, can_.at_once);
    found_.onset = {lines.fits * stride, lines.exceeds * stride};
    found_.onset_stride = stride;
    found_.onset_hidden = !reaches(family(lines.fits)) || !reaches(family(lines.exceeds));
    if (found_.onset_hidden && can_.exact && can_.contiguous) find_hidden_onset();
  }

  /// Where the level above holds a part of any working set that this one has just no room for, columns of
  /// lines in one set of that level reach this one: as many as stay in one column, times as many bytes as
  /// columns can be wide before they share sets.
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
    if (verdict(columns(widest)) == Fit::exceeds) wide = narrow(gauge_, columns, {1, widest}, can_.at_once);
    if (!reaches(columns(wide.fits))) throw Unknown{"the level above retains some of its lines"};
    found_.onset.fits = tall.fits * wide.fits * *found_.line;
    found_.onset.exceeds = found_.onset.fits + *found_.line;
    found_.onset_stride = *found_.line;
  }

  /// The capacity lies between these, in bytes.
  [[nodiscard]] std::int64_t least() const {
    return can_.exact ? most() : found_.onset.fits - found_.onset.fits / 64;
  }
  [[nodiscard]] std::int64_t most() const {
    return can_.exact ? found_.onset.fits / *found_.line * *found_.line : found_.onset.exceeds;
  }

  void find_conflicts() {
    for (const std::int64_t stride : telling_strides(*found_.line, least(), most(), around_.inner))
      find_conflict(stride);
    found_.inclusive = std::ranges::any_of(found_.conflicts, [&](const Conflict& c) {
      return c.lines.exceeds != 0 && c.lines.fits < around_.inner.ways;
    });
  }

  void find_conflict(std::int64_t stride) {
    const Family family = [&](std::int64_t n) { return dense(n, stride); };
    Conflict conflict{stride, {}};
    const std::int64_t most = can_.exact ? most_counted : most_counted / 2;
    if (verdict(family(most)) == Fit::exceeds)
      conflict.lines = narrow(gauge_, family, {0, most}, can_.at_once);
    else
      conflict.lines = {most, 0};
    const bool seen_leaving = conflict.lines.exceeds != 0;
    const bool more_than_inner = conflict.lines.fits > around_.inner.ways;
    if ((more_than_inner && !reaches(family(conflict.lines.fits))) ||
        (seen_leaving && !reaches(family(conflict.lines.exceeds))))
      return; // the level above answers instead
    if (seen_leaving && below_leaves(family(conflict.lines.exceeds))) {
      found_.disturbed.push_back(stride);
      return;
    }
    found_.conflicts.push_back(conflict);
  }

  void find_shapes() {
    found_.shapes = consistent_shapes(*found_.line, least(), most(), found_.conflicts, around_.inner);
    if (found_.shapes.empty() && !can_.exact && found_.conflicts.size() > 6) {
      found_.shapes = consistent_shapes(*found_.line, least(), most(), found_.conflicts, around_.inner, 1);
      found_.outlier = true;
    }
    tell_apart();
    if (found_.shapes.empty())
      throw Unknown{fmt::format(
          "no number of ways explains both the first misses between {} and {} bytes and "
          "the conflicts at {}{}",
          found_.onset.fits, found_.onset.exceeds, base::format_count(found_.conflicts.size(), "stride"),
          can_.exact ? "" : "; another hardware thread of the core may use part of the cache: try again")};
    if (found_.shapes.size() > 1)
      throw Unknown{fmt::format("{} geometries are consistent with all readings", found_.shapes.size())};
    const Shape& shape = found_.shapes.front();
    if (around_.above != nullptr && around_.inner.period % shape.way_bytes() == 0 &&
        shape.line == around_.line_above && shape.ways > around_.inner.ways)
      throw Unknown{fmt::format("{}, or an exclusive level with {} fewer behind the one above: lines of one "
                                "set there fall into one set here",
                                base::format_count(shape.ways, "way"), around_.inner.ways)};
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
    for (const Shape& shape : found_.shapes) {
      for (std::uint64_t variant = 0; variant < trial_variants; ++variant)
        for (const std::int64_t lines : {shape.ways, shape.ways + 1})
          add(shape, lines, {variant, nullptr});
      for (const Shape& rival : found_.shapes)
        if (rival != shape) add(shape, shape.ways + 1, {0, &rival});
    }
    return all;
  }

  /// Leaves the shapes that foretell what every trial does.
  void tell_apart() {
    if (!can_.contiguous || found_.shapes.empty() || found_.shapes.size() > most_shapes) return;
    const bool ordinary = found_.shapes.front().ways <= ordinary_ways;
    found_.fillers_used = true;
    bool overflow_seen = false;
    for (const Pattern& trial : trials()) {
      const auto places = kernel::places(trial);
      const Fit said = verdict(trial);
      if (said == Fit::fits && !reaches(trial)) throw Unknown{"the level above retains some of its lines"};
      if (said == Fit::exceeds && below_leaves(trial)) continue; // it may be the level below that speaks
      overflow_seen = overflow_seen || said == Fit::exceeds;
      std::erase_if(found_.shapes,
                    [&](const Shape& shape) { return has_room(shape, places) != (said == Fit::fits); });
    }
    if (found_.shapes.empty()) return;
    if (!overflow_seen) throw Unknown{"the next level overflows at the same size"};
    if (!in_one_set(found_.shapes.front(), found_.shapes.front().ways, around_.inner, {}))
      throw Unknown{"it has no more ways than the level above"};
    // A cache of hundreds of ways that behaves as an ordinary one would, but for its ways, is no cache.
    if (found_.shapes.front().ways > ordinary_ways && ordinary)
      throw Unknown{"no number of ways up to several hundred explains all readings"};
  }

  /// Twice as many lines as a set holds, half of them shifted: they stay once the shift leads to other sets.
  void find_shifted_line() {
    const Shape& shape = found_.shapes.front();
    const std::int64_t stride = common_multiple(shape.way_bytes(), around_.inner.period);
    if (stride == 0 || shape.ways <= around_.inner.ways || shape.sets == 1) return;
    const auto shifted = [&](std::int64_t distance) {
      Pattern p = dense(2 * shape.ways, stride);
      p.shift = distance;
      p.wrap = 2;
      return p;
    };
    std::vector<Pattern> patterns;
    for (std::int64_t d = 8; d <= 2 * shape.line; d *= 2)
      patterns.push_back(shifted(d));
    const auto shares = gauge_.shares(patterns);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const Fit said = gauge_.judge(shares[i], patterns[i].visits());
      if (said == Fit::exceeds && found_.shifted_line) found_.shifted_line.reset();
      if (said == Fit::fits && !found_.shifted_line && reaches(patterns[i]))
        found_.shifted_line = patterns[i].shift;
    }
  }

  CachedSampler& sampler_cache_;
  const Abilities& can_;
  Gauge& gauge_;
  const Neighbours& around_;
  Geometry found_;
};

} // namespace

Geometry find_geometry(CachedSampler& cached, Gauge& gauge, const Neighbours& around) {
  return GeometryOfLevel(cached, gauge, around).find();
}

} // namespace recount::caches
