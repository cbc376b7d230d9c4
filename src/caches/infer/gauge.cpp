#include "caches/infer/gauge.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
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
