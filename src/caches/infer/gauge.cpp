#include "caches/infer/gauge.hpp"

#include <fmt/format.h>

namespace recount::analysis {

namespace {

/// Of the visits: less is the noise of a counter or of the system beside the program, more is not.
constexpr double stays_most = 0.02, leaves_least = 0.05;

Fit judged(double share) {
  return share <= stays_most ? Fit::stays : share < leaves_least ? Fit::unclear : Fit::leaves;
}

} // namespace

std::vector<double> CountGauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<double> all;
  for (const Reading& reading : notebook_.read(patterns)) {
    if (reading.misses.size() <= level_ || !reading.misses[level_])
      throw Unknown{"its misses were not counted at every required point"};
    all.push_back(*reading.misses[level_]);
  }
  return all;
}

Fit CountGauge::judge(double share, std::int64_t visits) const {
  if (!notebook_.abilities().exact) return judged(share);
  return share * static_cast<double>(visits) < 0.1 ? Fit::stays : Fit::leaves;
}

std::string CountGauge::thresholds() const {
  if (notebook_.abilities().exact) return "one miss per pass";
  return fmt::format("fits: at most {:g} misses per access; does not fit: at least {:g}", stays_most,
                     leaves_least);
}

kernel::Pattern spread_over_sets(const kernel::Pattern& pattern, std::int64_t line, std::int64_t page) {
  kernel::Pattern spread = pattern;
  spread.shift = line;
  spread.wrap = page / line;
  return spread;
}

bool TimeGauge::crosses_pages(const kernel::Pattern& pattern) const {
  return pattern.stride >= notebook_.abilities().page && pattern.pair == 0;
}

std::vector<double> TimeGauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<kernel::Pattern> wanted(patterns.begin(), patterns.end());
  for (const auto& pattern : patterns)
    if (crosses_pages(pattern))
      wanted.push_back(spread_over_sets(pattern, line_, notebook_.abilities().page));
  const auto readings = notebook_.read(wanted);
  std::vector<double> all;
  std::size_t control = patterns.size();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const char* const missing = "its time was not measured at every required point";
    const double translation = crosses_pages(patterns[i]) ? time_of(readings[control++], missing) : hit_;
    all.push_back((time_of(readings[i], missing) - translation) / penalty_);
  }
  return all;
}

Fit TimeGauge::judge(double share, std::int64_t) const {
  return judged(share);
}

std::string TimeGauge::thresholds() const {
  return fmt::format("fits: at most {:g} of the step between the plateaus; does not fit: at least {:g}",
                     stays_most, leaves_least);
}

} // namespace recount::analysis
