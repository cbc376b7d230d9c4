#include "caches/infer/gauge.hpp"

#include <algorithm>
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

namespace {

std::vector<Fit> verdicts(Gauge& gauge, const Family& family, const std::vector<std::int64_t>& members) {
  std::vector<kernel::Pattern> patterns;
  for (const std::int64_t n : members)
    patterns.push_back(family(n));
  const auto shares = gauge.shares(patterns);
  std::vector<Fit> all;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    all.push_back(gauge.judge(shares[i], patterns[i].visits()));
  return all;
}

/// At most `count` whole numbers spread evenly between two others.
std::vector<std::int64_t> between(const Boundary& b, std::size_t count) {
  const std::int64_t gap = b.exceeds - b.fits,
                     parts = std::min<std::int64_t>(gap, static_cast<std::int64_t>(count) + 1);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 1; i < parts; ++i)
    all.push_back(b.fits + gap * i / parts);
  return all;
}

/// The next larger members, which would stay if only noise made `n` seem to leave.
std::vector<std::int64_t> doubled(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t larger = 2 * n; larger <= most && larger <= 8 * n; larger *= 2)
    all.push_back(larger);
  return all;
}

} // namespace

Boundary narrow(Gauge& gauge, const Family& family, Boundary b, std::size_t at_once) {
  while (!b.sharp()) {
    const auto members = between(b, at_once);
    const auto said = verdicts(gauge, family, members);
    // Where noise can only make members seem to leave, those below one that stays stay as well.
    std::size_t from = 0;
    if (!members.empty() && gauge.only_too_high(family(members.front())))
      for (std::size_t i = 0; i < members.size(); ++i)
        if (said[i] == Fit::fits) from = i;
    Boundary next = b;
    for (std::size_t i = from; i < members.size() && next.exceeds == b.exceeds; ++i) {
      if (said[i] == Fit::exceeds) next.exceeds = members[i];
      if (said[i] == Fit::fits) next.fits = members[i];
    }
    if (next.fits == b.fits && next.exceeds == b.exceeds) return b; // nothing but unclear ones in between
    b = next;
  }
  return b;
}

Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first, std::int64_t most) {
  Boundary b{0, 0};
  for (std::int64_t n = first; n <= most; n *= 2) {
    const bool exceeds = verdicts(gauge, family, {n}).front() == Fit::exceeds;
    bool noise = false;
    if (exceeds && gauge.only_too_high(family(n)))
      for (const Fit larger : verdicts(gauge, family, doubled(n, most)))
        noise = noise || larger == Fit::fits;
    if (exceeds && !noise) {
      b.exceeds = n;
      return b;
    }
    b.fits = n;
  }
  return b;
}

} // namespace recount::caches
