#include "caches/infer/gauge.hpp"

#include <fmt/format.h>

namespace recount::caches {

namespace {

/// Miss rates: lower ones are noise of the counter or of other programs, higher ones are not.
constexpr double fits_most = 0.02, exceeds_least = 0.05;

Fit judged(double share) {
  return share <= fits_most ? Fit::fits : share < exceeds_least ? Fit::unclear : Fit::exceeds;
}

} // namespace

std::vector<double> CountGauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<double> all;
  for (const Reading& reading : sampler_cache_.read(patterns)) {
    if (reading.misses.size() <= level_ || !reading.misses[level_])
      throw Unknown{"its misses were not counted at every required point"};
    all.push_back(*reading.misses[level_]);
  }
  return all;
}

Fit CountGauge::judge(double share, std::int64_t visits) const {
  if (!sampler_cache_.abilities().exact) return judged(share);
  return share * static_cast<double>(visits) < 0.1 ? Fit::fits : Fit::exceeds;
}

std::string CountGauge::thresholds() const {
  if (sampler_cache_.abilities().exact) return "one miss per pass";
  return fmt::format("fits: at most {:g} misses per access; does not fit: at least {:g}", fits_most,
                     exceeds_least);
}

kernel::Pattern spread_over_sets(const kernel::Pattern& pattern, std::int64_t line, std::int64_t page) {
  kernel::Pattern spread = pattern;
  spread.shift = line;
  spread.wrap = page / line;
  return spread;
}

bool TimeGauge::crosses_pages(const kernel::Pattern& pattern) const {
  return pattern.stride >= sampler_cache_.abilities().page && pattern.pair == 0;
}

std::vector<double> TimeGauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<kernel::Pattern> wanted(patterns.begin(), patterns.end());
  for (const auto& pattern : patterns)
    if (crosses_pages(pattern))
      wanted.push_back(spread_over_sets(pattern, line_, sampler_cache_.abilities().page));
  const auto readings = sampler_cache_.read(wanted);
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
                     fits_most, exceeds_least);
}

} // namespace recount::caches
