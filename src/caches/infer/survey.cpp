#include "caches/infer/survey.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

constexpr std::int64_t survey_from = 2048, survey_line = 64; ///< bytes; longer lines than that only help
constexpr std::int64_t survey_huge_from = std::int64_t{8}
                                          << 20; ///< bytes from which large pages are requested
constexpr std::int64_t survey_wide_from = std::int64_t{32} << 20; ///< bytes
constexpr double flat_most = 1.1;
constexpr double floor_spread = 1.01;
constexpr double most_spread = 1.33; ///< quiet machines have 1.0 to 1.15, busy ones 1.8 and more

} // namespace

kernel::Pattern survey_pattern(std::int64_t bytes) {
  kernel::Pattern pattern = kernel::dense(bytes / survey_line, survey_line);
  pattern.huge = bytes > survey_huge_from;
  return pattern;
}

std::vector<SizePoint> survey(CachedSampler& cached, std::int64_t most) {
  std::vector<kernel::Pattern> patterns;
  double size = survey_from;
  while (size <= static_cast<double>(most)) {
    patterns.push_back(survey_pattern(std::llround(size / 1024) * 1024));
    // Four sizes an octave, two where they take longer, one where they take longest.
    const int steps = size < static_cast<double>(survey_huge_from)   ? 4
                      : size < static_cast<double>(survey_wide_from) ? 2
                                                                     : 1;
    size *= std::exp2(1.0 / steps);
  }
  if (patterns.empty() || patterns.back().count * survey_line < most - most / 8)
    patterns.push_back(survey_pattern(most));
  const auto readings = cached.read(patterns);
  std::vector<SizePoint> curve;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const double ns = require_time(readings[i], "no time was measured over a range of sizes");
    const std::int64_t bytes = patterns[i].count * survey_line;
    if (curve.empty() || curve.back().bytes != bytes)
      curve.push_back({bytes, ns, readings[i].repeated_ns.value_or(ns) / ns, readings[i].time_disturbed()});
  }
  return curve;
}

std::optional<double> flattest(const std::vector<SizePoint>& curve, std::int64_t from, std::int64_t to) {
  std::optional<double> best;
  double least = flat_most;
  for (std::size_t i = 0; i + 2 < curve.size(); ++i) {
    if (curve[i].bytes < from || curve[i + 2].bytes > to) continue;
    const auto [low, high] = std::minmax({curve[i].ns, curve[i + 1].ns, curve[i + 2].ns});
    if (high / low >= least) continue;
    least = high / low;
    best = low;
  }
  return best;
}

double floor_of(const std::vector<SizePoint>& curve) {
  std::vector<double> ns;
  for (const SizePoint& point : curve)
    ns.push_back(point.ns);
  std::ranges::sort(ns);
  for (std::size_t i = 0; i + floor_points <= ns.size(); ++i)
    if (ns[i + floor_points - 1] <= floor_spread * ns[i]) return ns[i];
  return ns.front();
}

bool agree_at_floor(const std::vector<SizePoint>& curve) {
  const double floor = floor_of(curve);
  std::size_t at = 0, below = 0;
  for (const SizePoint& point : curve) {
    below += point.ns * floor_spread < floor ? 1 : 0;
    at += point.ns * floor_spread >= floor && point.ns <= floor_spread * floor ? 1 : 0;
  }
  return at >= floor_points && below < floor_points;
}

std::string noise_of(const std::vector<SizePoint>& curve, std::int64_t from, std::int64_t to) {
  std::vector<double> spreads;
  std::size_t disturbed = 0;
  for (const SizePoint& point : curve) {
    if (point.bytes < from || point.bytes > to) continue;
    spreads.push_back(point.spread);
    disturbed += point.disturbed ? 1 : 0;
  }
  if (spreads.empty()) return {};
  if (2 * disturbed > spreads.size())
    return fmt::format("other programs interrupted every round of {} of {} working sets", disturbed,
                       spreads.size());
  if (const double usual = statistics::median(spreads); usual > most_spread)
    return fmt::format("rounds of one working set differ by a factor of {:.1f}: other users of the level",
                       usual);
  return {};
}

std::int64_t first_above(const std::vector<SizePoint>& curve, double limit) {
  std::int64_t first = 0;
  for (auto point = curve.rbegin(); point != curve.rend() && point->ns > limit; ++point)
    first = point->bytes;
  return first;
}

} // namespace recount::caches
