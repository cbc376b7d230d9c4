// The geometry of a level from readings with noise.
#include "base/format.hpp"
#include "caches/infer/geometry.hpp"
#include "caches/infer/shape_decision.hpp"

#include <fmt/format.h>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/chunk_by.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

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
    if (decision->probability < least_probability)
      throw Unknown{
          missing_.empty()
              ? fmt::format("no number of ways explains the conflicts at {} with a probability above {}",
                            base::format_count(found_.conflicts.size(), "stride"), least_probability)
              : missing_};
    const std::int64_t line = found_.line.value_or(64);
    found_.shape = {line, decision->ways, std::max<std::int64_t>(1, decision->way_bytes / line)};
    if (found_.shape->way_bytes() != decision->way_bytes) throw Unknown{"a way is no multiple of a line"};
  }

  /// The most lines at a stride that hit, so that as few readings as possible are on the wrong side. The
  /// lines rise.
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
    const Shape shape = *found_.shape;
    if (shape.sets == 1) return;
    std::vector<Pattern> patterns;
    for (std::int64_t d = 8; d <= 4 * std::max(narrowest_line, shape.line); d *= 2) {
      Pattern& p = patterns.emplace_back(dense(2 * shape.ways, shape.way_bytes()));
      p.shift = d;
      p.wrap = 2;
    }
    for (const auto& [pattern, share] : measure(patterns)) {
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
