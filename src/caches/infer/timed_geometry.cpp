#include "caches/infer/geometry.hpp"

#include "base/format.hpp"
#include "caches/infer/colour_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

constexpr std::int64_t shortest_conflict = 512,
                       longest_conflict = std::int64_t{128} << 10; ///< strides, bytes
constexpr double least_probability = 0.99;                         ///< of a shape that is stated
constexpr double clear_miss = 0.2; ///< share: lines of one set overflow it, or sizes exceed the capacity
constexpr double begun = 0.1;      ///< share: some set overflows
constexpr std::int64_t narrowest_line = 16; ///< bytes
constexpr std::int64_t most_odd_ways = 5;   ///< of caches that were built

std::vector<std::int64_t> conflict_strides() {
  std::vector<std::int64_t> strides;
  for (std::int64_t stride = shortest_conflict; stride <= longest_conflict; stride *= 2)
    strides.push_back(stride);
  for (const std::int64_t odd : {3, 5, 7}) // where the number of sets has an odd factor, these find it
    strides.push_back(odd * longest_conflict / 4);
  return strides;
}

/// Numbers of lines: every one where sets of ordinary ways overflow, fewer beyond.
const std::vector<std::int64_t>& conflict_counts() {
  static const std::vector<std::int64_t> counts = [] {
    std::vector<std::int64_t> all;
    for (std::int64_t n = 2; n <= 21; ++n)
      all.push_back(n);
    for (const std::int64_t n :
         {24, 25, 30, 31, 32, 33, 34, 40, 41, 48, 49, 56, 57, 64, 65, 80, 81, 96, 97, 128, 129})
      all.push_back(n);
    return all;
  }();
  return counts;
}

class TimedGeometry {
public:
  TimedGeometry(CachedSampler& cached, Gauge& gauge, std::int64_t onset)
      : sampler_cache_(cached), gauge_(gauge), around_(onset) {}

  Geometry find() {
    try {
      find_line();
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
  /// Pairs of visits in random blocks: the first one always misses, the second only in another line.
  void find_line() {
    const auto from = std::bit_ceil(static_cast<std::uint64_t>(around_));
    const auto patterns =
        pair_patterns(std::max<std::int64_t>(16, 2 * static_cast<std::int64_t>(from) / pair_block));
    found_.pairs = pair_points(patterns, gauge_.shares(patterns));
    const auto line = line_from_pairs(found_.pairs);
    if (!line) {
      found_.line_unknown = "the second access of a pair misses at no clear distance";
      return;
    }
    found_.line = line->bytes;
    found_.prefetch_seen = line->prefetch_seen;
  }

  /// Readings of all strides, those that can be had.
  [[nodiscard]] std::vector<StrideReading> readings_of_strides() {
    std::vector<Pattern> patterns;
    for (const std::int64_t stride : conflict_strides())
      for (const std::int64_t n : conflict_counts())
        if (stride < 4096 || n <= 65) patterns.push_back(dense(n, stride));
    const auto shares = gauge_.available_shares(patterns);
    std::vector<StrideReading> readings;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (shares[i]) readings.push_back({patterns[i].stride, patterns[i].count, *shares[i]});
    return readings;
  }

  void decide() {
    const auto readings = readings_of_strides();
    const auto decision = decide_shape(readings);
    if (!decision) {
      static_cast<void>(
          gauge_.share(dense(conflict_counts().front(), shortest_conflict))); // throws the reason
      throw Unknown{"no lines at any stride were measured"};
    }
    for (const std::int64_t stride : conflict_strides())
      add_conflict(stride, readings);
    found_.probability = decision->probability;
    if (decision->probability < least_probability)
      static_cast<void>(
          gauge_.share(dense(conflict_counts().front(), conflict_strides().back()))); // or its reason
    if (decision->probability < least_probability)
      throw Unknown{fmt::format("no number of ways explains the conflicts at {} with a probability above {}",
                                base::format_count(found_.conflicts.size(), "stride"), least_probability)};
    const std::int64_t line = found_.line.value_or(64);
    found_.shapes = {{line, decision->ways, std::max<std::int64_t>(1, decision->way_bytes / line)}};
    if (found_.shapes.front().way_bytes() != decision->way_bytes)
      throw Unknown{"a way is no multiple of a line"};
  }

  /// The most lines at a stride that hit, so that as few readings as possible are on the wrong side.
  void add_conflict(std::int64_t stride, const std::vector<StrideReading>& readings) {
    std::vector<StrideReading> of_stride;
    std::ranges::copy_if(readings, std::back_inserter(of_stride),
                         [&](const StrideReading& r) { return r.stride == stride; });
    std::ranges::sort(of_stride, {}, &StrideReading::lines);
    if (of_stride.size() < 2) return;
    std::size_t best = 0;
    auto fewest = static_cast<std::ptrdiff_t>(of_stride.size());
    for (std::size_t fit = 0; fit <= of_stride.size(); ++fit) {
      const auto split = of_stride.begin() + static_cast<std::ptrdiff_t>(fit);
      const auto missed = [](const StrideReading& r) { return r.share >= clear_miss; };
      const auto wrong = std::count_if(of_stride.begin(), split, missed) +
                         (of_stride.end() - split - std::count_if(split, of_stride.end(), missed));
      if (wrong >= fewest) continue;
      fewest = wrong;
      best = fit;
    }
    Conflict conflict{stride, {}};
    if (best > 0) conflict.lines.fits = of_stride[best - 1].lines;
    if (best < of_stride.size()) conflict.lines.exceeds = of_stride[best].lines;
    found_.conflicts.push_back(conflict);
  }

  /// Working sets, one visit per line: they begin to miss at the capacity.
  void confirm() {
    const Shape& shape = found_.shapes.front();
    const std::int64_t capacity = shape.capacity(), line = shape.line, lines = capacity / line;
    std::vector<Pattern> patterns;
    for (const double part : {0.5, 0.625, 0.75, 0.8125, 0.875, 0.9375, 0.97, 1.0, 1.02, 1.04, 1.0625, 1.125,
                              1.1875, 1.25, 1.375, 1.5, 1.75, 2.0})
      patterns.push_back(dense(std::llround(part * static_cast<double>(lines)), line));
    for (double size = 2048; size < 4 * static_cast<double>(capacity);
         size *= std::exp2(0.25)) // of the survey
      patterns.push_back(dense(std::llround(size / 1024) * 1024 / 64, 64));
    std::ranges::sort(patterns, {}, [](const Pattern& p) { return p.count * p.stride; });
    const auto shares = gauge_.available_shares(patterns);
    found_.onset_stride = line;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!shares[i]) continue;
      const std::int64_t bytes = patterns[i].count * patterns[i].stride;
      if (*shares[i] <= begun) {
        found_.onset.fits = bytes;
        found_.onset.exceeds = 0;
      } else if (found_.onset.exceeds == 0) {
        found_.onset.exceeds = bytes;
      }
    }
    const Boundary& onset = found_.onset;
    // Up to two lines per set of the shape may be in use by the system; a quarter more overflows most sets.
    // Where lines do not leave in order of use, a quarter more still mostly stays; but a number of ways that
    // is hardly ever built may be one that others leave of a larger number, and then the onset is beyond it.
    const std::int64_t beyond =
        shape.ways % 2 == 1 && shape.ways > most_odd_ways ? capacity / 16 : capacity / 4;
    const bool agrees = onset.fits >= capacity - capacity / 4 && onset.fits <= capacity + beyond &&
                        onset.exceeds > capacity - capacity / 8 && onset.exceeds <= capacity + capacity / 2;
    if (!agrees)
      throw Unknown{fmt::format("conflict misses show {} in {}, but misses begin between {} and {}",
                                base::format_bytes(capacity), base::format_count(shape.ways, "way"),
                                base::format_bytes(onset.fits),
                                onset.exceeds == 0 ? "any size" : base::format_bytes(onset.exceeds))};
  }

  /// Twice as many lines as a set holds, half of them shifted: they fit once the shift leads to other sets.
  void find_shifted_line() {
    const Shape& shape = found_.shapes.front();
    if (shape.sets == 1) return;
    std::vector<Pattern> patterns;
    for (std::int64_t d = 8; d <= 4 * std::max(narrowest_line, shape.line); d *= 2) {
      Pattern p = dense(2 * shape.ways, shape.way_bytes());
      p.shift = d;
      p.wrap = 2;
      patterns.push_back(p);
    }
    const auto shares = gauge_.available_shares(patterns);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!shares[i]) continue;
      if (*shares[i] >= clear_miss) found_.shifted_line.reset();
      if (*shares[i] < clear_miss && !found_.shifted_line) found_.shifted_line = patterns[i].shift;
    }
    if (found_.line || !found_.shifted_line || *found_.shifted_line < narrowest_line) return;
    found_.line = found_.shifted_line;
    found_.line_by_shift = true;
    found_.shapes = {{*found_.line, shape.ways, shape.way_bytes() / *found_.line}};
  }

  CachedSampler& sampler_cache_;
  Gauge& gauge_;
  std::int64_t around_;
  Geometry found_;
};

} // namespace

Geometry find_timed_geometry(CachedSampler& cached, Gauge& gauge, std::int64_t onset) {
  return TimedGeometry(cached, gauge, onset).find();
}

} // namespace recount::caches
