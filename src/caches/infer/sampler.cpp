#include "caches/infer/sampler.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>
#include <set>

namespace recount::caches {

namespace {
constexpr std::int64_t shared_from = std::int64_t{8} << 20; ///< bytes; larger patterns reach shared levels
constexpr std::size_t rounds_that_agree = 3;
} // namespace

double normalised_time(double base, double reference, const kernel::Pattern& pattern, double ns) {
  if (base <= 0 || reference <= 0 || kernel::extent(pattern) > shared_from) return ns;
  return ns * base / reference;
}

Reading make_reading(const kernel::Pattern& pattern, const TimedRounds& times,
                     std::span<const std::vector<double>> misses) {
  Reading reading;
  reading.rounds = times.undisturbed.size() + times.disturbed.size();
  reading.disturbed = times.disturbed.size();
  auto ns = times.undisturbed.empty() ? times.disturbed : times.undisturbed;
  if (!ns.empty()) {
    std::ranges::sort(ns);
    reading.ns = kernel::extent(pattern) > shared_from ? statistics::median(ns) : ns.front();
    reading.repeated_ns = ns[std::min(ns.size(), rounds_that_agree) - 1];
  }
  for (const auto& rounds : misses)
    reading.misses.push_back(rounds.empty() ? std::nullopt : std::optional(statistics::median(rounds)));
  return reading;
}

double require_time(const Reading& reading, const char* otherwise) {
  if (!reading.ns) throw Unknown{reading.why.empty() ? otherwise : reading.why};
  return *reading.ns;
}

std::vector<Reading> CachedSampler::read(std::span<const kernel::Pattern> patterns) {
  std::set<kernel::Pattern> requested;
  std::vector<kernel::Pattern> fresh;
  for (const auto& pattern : patterns)
    if (!taken_.contains(pattern) && requested.insert(pattern).second) fresh.push_back(pattern);
  if (!fresh.empty()) {
    auto readings = sampler_.read(fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i)
      taken_.emplace(fresh[i], std::move(readings[i]));
  }
  std::vector<Reading> all;
  for (const auto& pattern : patterns)
    all.push_back(taken_.at(pattern));
  return all;
}

} // namespace recount::caches
