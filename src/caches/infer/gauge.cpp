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

std::vector<std::optional<double>> Gauge::available_shares(std::span<const kernel::Pattern> patterns) {
  std::vector<std::optional<double>> all;
  for (const auto& pattern : patterns) {
    try {
      all.emplace_back(share(pattern));
    } catch (const Unknown&) {
      all.emplace_back();
    }
  }
  return all;
}

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

std::vector<TimeGauge::Pair> TimeGauge::readings_of(std::span<const kernel::Pattern> patterns) {
  std::vector<kernel::Pattern> wanted(patterns.begin(), patterns.end());
  for (const auto& pattern : patterns)
    if (crosses_pages(pattern))
      wanted.push_back(spread_over_sets(pattern, line_, sampler_cache_.abilities().page));
  const auto readings = sampler_cache_.read(wanted);
  std::vector<Pair> pairs;
  std::size_t control = patterns.size();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool has_control = crosses_pages(patterns[i]);
    pairs.push_back({readings[i], has_control ? readings[control++] : Reading{}, has_control});
  }
  return pairs;
}

double TimeGauge::share_of(const Pair& pair) const {
  const char* const missing = "its time was not measured at every required point";
  const double translation = pair.has_control ? time_of(pair.control, missing) : hit_;
  return (time_of(pair.together, missing) - translation) / penalty_;
}

std::vector<double> TimeGauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<double> all;
  for (const Pair& pair : readings_of(patterns))
    all.push_back(share_of(pair));
  return all;
}

std::vector<std::optional<double>> TimeGauge::available_shares(std::span<const kernel::Pattern> patterns) {
  std::vector<std::optional<double>> all;
  for (const Pair& pair : readings_of(patterns))
    all.push_back(pair.together.ns && (pair.control.ns || !pair.has_control) ? std::optional(share_of(pair))
                                                                             : std::nullopt);
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
