#include "caches/infer/gauge.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::caches {

namespace {

/// Miss rates: lower ones are noise of the counter or of other programs, higher ones are not.
constexpr double fits_most = 0.02, exceeds_least = 0.05;

} // namespace

std::vector<double> Gauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<double> all;
  for (const Share& share : measure(patterns))
    if (share.value)
      all.push_back(*share.value);
    else
      throw Unknown{share.unknown};
  return all;
}

Fit Gauge::judge(double share, std::int64_t) const {
  return share <= fits_most ? Fit::fits : share < exceeds_least ? Fit::unclear : Fit::exceeds;
}

std::vector<Share> CountGauge::measure(std::span<const kernel::Pattern> patterns) {
  std::vector<Share> all;
  for (const Reading& reading : cached_.read(patterns)) {
    const auto& counts = reading.*counts_;
    all.push_back({level_ < counts.size() ? counts[level_] : std::nullopt,
                   "its misses were not counted at every required point"});
  }
  return all;
}

Fit CountGauge::judge(double share, std::int64_t visits) const {
  if (!cached_.abilities().exact) return Gauge::judge(share, visits);
  return share * static_cast<double>(visits) < 0.1 ? Fit::fits : Fit::exceeds;
}

std::string CountGauge::thresholds() const {
  if (cached_.abilities().exact) return "one miss per pass";
  return fmt::format("fits: at most {:g} misses per access; does not fit: at least {:g}", fits_most,
                     exceeds_least);
}

std::vector<Share> TimeGauge::measure(std::span<const kernel::Pattern> patterns) {
  const std::int64_t page = cached_.abilities().page;
  std::vector<kernel::Pattern> wanted(patterns.begin(), patterns.end());
  for (kernel::Pattern control : patterns)
    if (control.stride >= page && control.pair == 0) {
      control.shift = line_;
      control.wrap = page / line_;
      wanted.push_back(control);
    }
  const auto readings = cached_.read(wanted);
  const auto missing = [](const Reading& reading) {
    return Share{{}, reading.why.empty() ? "its time was not measured at every required point" : reading.why};
  };
  std::vector<Share> all;
  std::size_t control = patterns.size();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool crosses_pages = patterns[i].stride >= page && patterns[i].pair == 0;
    const Reading& hit = crosses_pages ? readings[control++] : readings[i];
    if (!readings[i].ns || !hit.ns)
      all.push_back(missing(readings[i].ns ? hit : readings[i]));
    else
      all.push_back({(*readings[i].ns - (crosses_pages ? *hit.ns : hit_)) / penalty_, {}});
  }
  return all;
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

} // namespace

Boundary narrow(Gauge& gauge, const Family& family, Boundary b, std::size_t at_once) {
  while (b.exceeds - b.fits > 1) {
    const auto members = between(b, at_once);
    const auto fits = verdicts(gauge, family, members);
    Boundary next = b;
    for (std::size_t i = 0; i < members.size() && next.exceeds == b.exceeds; ++i) {
      if (fits[i] == Fit::exceeds) next.exceeds = members[i];
      if (fits[i] == Fit::fits) next.fits = members[i];
    }
    if (next.fits == b.fits && next.exceeds == b.exceeds) return b; // nothing but unclear ones in between
    b = next;
  }
  return b;
}

Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first, std::int64_t most) {
  Boundary b{0, 0};
  for (std::int64_t n = first; n <= most && b.exceeds == 0; n *= 2)
    (verdicts(gauge, family, {n}).front() == Fit::exceeds ? b.exceeds : b.fits) = n;
  return b;
}

} // namespace recount::caches
