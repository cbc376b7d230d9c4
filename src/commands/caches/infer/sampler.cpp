#include "commands/caches/infer/sampler.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "recount/error.hpp"
#include "run/result/curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace recount::caches {

namespace {
constexpr std::int64_t shared_from = 8 << 20; ///< bytes; larger patterns reach shared levels
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

std::vector<Reading> Sampler::read(std::span<const kernel::Pattern> patterns) {
  return base::mapped(patterns, [&](const kernel::Pattern& pattern) { return read_one(pattern); });
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
  return base::mapped(patterns, [&](const kernel::Pattern& pattern) { return taken_.at(pattern); });
}

namespace {

constexpr const char* study_name = "caches";
// The metrics of page colours, which are observations of the kernel visit.
constexpr const char* colour_metric = "page_colour";
constexpr const char* members_metric = "page_colour_members"; // of the colour before
constexpr const char* incomplete_metric = "page_colours_complete";
constexpr const char* share_metric = "page_colour_misses";  // per line of a colour
constexpr const char* sample_metric = "page_colour_sample"; // pages of it that have a colour
constexpr const char* left_over_metric = "pages_without_colour";

/// The order differs from round to round; the pattern is the same.
kernel::Pattern without_round(kernel::Pattern pattern) {
  pattern.seed %= seeds_per_round;
  return pattern;
}

void add(std::vector<std::vector<double>>& all, std::size_t at, double value) {
  if (all.size() <= at) all.resize(at + 1);
  all[at].push_back(value);
}

} // namespace

CountedMiss Abilities::counted_by(std::size_t level) const {
  return level < events.size() ? events[level] : CountedMiss{miss_metric(level), {}};
}
CountedMiss Abilities::tlb_counted_by(std::size_t level) const {
  return level < tlb_events.size() ? tlb_events[level] : CountedMiss{tlb_metric(level), {}};
}

namespace {

constexpr const char* events_note = "events";
constexpr const char* tlb_events_note = "tlb_events";

/// "NAME@METRIC ...", as in records.
std::string to_note(const std::vector<CountedMiss>& events) {
  std::string text;
  for (const CountedMiss& event : events)
    text += (text.empty() ? "" : " ") + event.name + (event.name.empty() ? "" : "@") + event.metric;
  return text;
}

std::vector<CountedMiss> parse_note(const std::string& text) {
  return base::mapped(base::words(text), [](const std::string_view word) {
    const auto at = word.find('@');
    if (at == word.npos) return CountedMiss{std::string(word), {}};
    return CountedMiss{std::string(word.substr(at + 1)), std::string(word.substr(0, at))};
  });
}

} // namespace

std::map<std::string, std::string> record_plan(const Abilities& can) {
  std::map<std::string, std::string> events;
  if (!can.events.empty()) events.emplace(events_note, to_note(can.events));
  if (!can.tlb_events.empty()) events.emplace(tlb_events_note, to_note(can.tlb_events));
  std::map<std::string, std::string> plan{{"study", study_name},
                                          {"witness", can.witness.name()},
                                          {"times", can.times ? "1" : "0"},
                                          {"counted", std::to_string(can.counted)},
                                          {"counted_tlbs", std::to_string(can.counted_tlbs)},
                                          {"exact", can.exact ? "1" : "0"},
                                          {"page", std::to_string(can.page)},
                                          {"most_bytes", std::to_string(can.max_bytes)},
                                          {"at_once", std::to_string(can.at_once)}};
  plan.merge(events);
  return plan;
}

std::string miss_metric(std::size_t level) {
  return fmt::format("PAPI_L{}_DCM", level + 1);
}
std::optional<std::size_t> level_of_misses(std::string_view metric) {
  for (std::size_t level = 0; level < counted_levels; ++level)
    if (metric == miss_metric(level)) return level;
  return {};
}
std::string tlb_metric(std::size_t level) {
  return fmt::format("MODEL_TLB{}_MISSES", level + 1);
}

void note_huge_pages(result::Observation& o, const HugePages& pages) {
  o.placement["bytes"] = pages.requested;
  o.placement["huge_bytes"] = pages.granted;
}

result::Observation make_observation(const kernel::Pattern& pattern, std::int64_t passes,
                                     const std::string& metric) {
  const auto point = kernel::to_point(pattern, passes);
  result::Observation o;
  o.kernel = point.kernel;
  o.params = point.params;
  o.metric = metric;
  return o;
}

std::vector<result::Observation> colour_observations(const PageColours& colours, std::int64_t page) {
  std::vector<result::Observation> all;
  const auto add = [&](const char* metric, result::Params params, auto value) {
    auto& o = all.emplace_back();
    o.kernel = "visit";
    o.params = std::move(params);
    o.metric = metric;
    o.value = value;
  };
  const auto add_pages = [&](const char* metric, const std::vector<std::int64_t>& pages) {
    kernel::Pattern pattern = kernel::dense(std::ssize(pages), page);
    pattern.slots = pages;
    add(metric, kernel::to_point(pattern, 1).params, std::int64_t{std::ssize(pages)});
  };
  for (std::size_t i = 0; i < colours.smallest.size(); ++i) {
    add_pages(colour_metric, colours.smallest[i]);
    add_pages(members_metric, colours.members[i]);
  }
  for (const ColourReading& r : colours.readings)
    add(share_metric, {{"colour", r.colour}, {"count", r.lines}, {"shift", r.shift}}, r.share);
  if (!colours.incomplete.empty()) {
    add(incomplete_metric, {{"count", colours.pages}, {"stride", page}}, result::Number{});
    all.back().reason = colours.incomplete;
  }
  if (colours.sample > 0)
    add(sample_metric, {{"count", colours.sample}, {"stride", page}}, colours.in_sample);
  add(left_over_metric,
      {{"count", colours.pages}, {"stride", page}, {"mixed", std::int64_t{colours.mixed ? 1 : 0}}},
      colours.unknown.empty() ? result::Number{colours.left_over} : result::Number{});
  all.back().reason = colours.unknown;
  return all;
}

RecordSampler::RecordSampler(const result::Results& results, const result::Run& run) {
  if (!result::is_inference(run))
    throw bad_input("run " + run.id, "has no readings of recount caches",
                    "record some: recount caches -o FILE");
  constexpr std::int64_t max_levels = 8;
  const auto number = [&](const std::string& name, std::int64_t least, std::int64_t most) {
    const std::string& text = base::value_at(run.plan, name);
    const auto value = base::parse<std::int64_t>(text);
    if (!value || *value < least || *value > most)
      throw bad_input("run " + run.id, fmt::format("{0} of its plan must be between {1} and {2} ({0} = {3})",
                                                   name, least, most, text.empty() ? "missing" : text));
    return *value;
  };
  abilities_.witness = base::value_at(run.plan, "witness");
  abilities_.times = number("times", 0, 1) != 0;
  abilities_.counted = static_cast<std::size_t>(number("counted", 0, max_levels));
  abilities_.counted_tlbs = static_cast<std::size_t>(number("counted_tlbs", 0, max_levels));
  abilities_.exact = number("exact", 0, 1) != 0;
  abilities_.page = number("page", 64, std::int64_t{1} << 40);
  abilities_.max_bytes = number("most_bytes", 0, std::int64_t{1} << 40);
  abilities_.at_once = static_cast<std::size_t>(number("at_once", 1, 1000));
  abilities_.events = parse_note(base::value_at(run.plan, events_note));
  abilities_.tlb_events = parse_note(base::value_at(run.plan, tlb_events_note));
  for (const auto& o : results.observations)
    if (o.run == run.id && result::is_reading(o)) add_reference(o);
  for (const auto& o : results.observations)
    if (o.run == run.id && result::is_reading(o) && o.metric != reference_metric && !add_colours(o))
      add_reading(o);
}

void RecordSampler::add_reference(const result::Observation& o) {
  if (o.metric != reference_metric) return;
  const auto seconds = result::as_double(o.value);
  if (!seconds || *seconds <= 0) return;
  if (base_ == 0) base_ = *seconds;
  references_[{kernel::to_pattern(o.kernel, o.params), o.repetition}] = *seconds;
}

void RecordSampler::add_reading(const result::Observation& o) {
  const auto requested = o.placement.find("bytes"), granted = o.placement.find("huge_bytes");
  if (requested != o.placement.end() && granted != o.placement.end())
    huge_pages_ = HugePages{requested->second, granted->second};
  const auto pattern = kernel::to_pattern(o.kernel, o.params);
  Rounds& rounds = rounds_[without_round(pattern)];
  const bool timed = is_seconds(o.metric);
  const auto each = timed ? result::ns_per_access(o) : result::per_access(o);
  if (!each) {
    if (timed) rounds.why = o.reason->cause;
    return;
  }
  if (timed) {
    const auto reference = references_.find({pattern, o.repetition});
    rounds.times.add(
        normalised_time(base_, reference == references_.end() ? 0 : reference->second, pattern, *each),
        !result::disturbances(o).empty());
  }
  for (std::size_t level = 0; level < abilities_.counted; ++level)
    if (o.metric == abilities_.counted_by(level).metric) add(rounds.misses, level, *each);
  for (std::size_t level = 0; level < abilities_.counted_tlbs; ++level)
    if (o.metric == abilities_.tlb_counted_by(level).metric) add(rounds.translations, level, *each);
}

/// False when the observation is not of page colours.
bool RecordSampler::add_colours(const result::Observation& o) {
  constexpr std::array<std::string_view, 6> metrics{colour_metric, members_metric, incomplete_metric,
                                                    share_metric,  sample_metric,  left_over_metric};
  if (std::ranges::find(metrics, o.metric) == metrics.end()) return false;
  PageColours& colours = colours_ ? *colours_ : colours_.emplace();
  const auto value = result::as_double(o.value);
  const auto number = [&](const char* name) { return result::integer(o.params, name).value_or(0); };
  const auto pages = value && *value >= 0 && *value <= 1e15 ? static_cast<std::int64_t>(*value) : 0;
  const auto slots = [&] {
    auto listed = kernel::to_pattern(o.kernel, o.params).slots;
    if (listed.empty()) throw bad_input("run " + o.run.get(), o.metric + " lists no pages");
    return listed;
  };
  if (o.metric == incomplete_metric)
    colours.incomplete = o.reason->cause;
  else if (o.metric == share_metric && value)
    colours.readings.push_back({number("colour"), number("count"), number("shift"), *value});
  else if (o.metric == sample_metric) {
    colours.sample = number("count");
    colours.in_sample = pages;
  } else if (o.metric == members_metric)
    colours.members.push_back(slots());
  else if (o.metric == colour_metric)
    colours.smallest.push_back(slots());
  else if (o.metric == left_over_metric) {
    if (!value) colours.unknown = o.reason->cause;
    colours.left_over = pages;
    colours.pages = number("count");
    colours.mixed = number("mixed") != 0;
  }
  return true;
}

Reading RecordSampler::read_one(const kernel::Pattern& pattern) {
  const auto found = rounds_.find(without_round(pattern));
  if (found == rounds_.end()) return {};
  const Rounds& rounds = found->second;
  Reading reading = make_reading(pattern, rounds.times, rounds.misses);
  reading.translations = make_reading(pattern, {}, rounds.translations).misses;
  if (!reading.ns) reading.why = rounds.why;
  return reading;
}

std::vector<double> Gauge::shares(std::span<const kernel::Pattern> patterns) {
  std::vector<double> all;
  for (const Share& share : measure(patterns))
    if (share.value)
      all.push_back(*share.value);
    else
      throw Unknown{share.unknown};
  return all;
}

Fit Gauge::judge(double share, std::int64_t visits) const {
  // More lines than fit miss once per pass at least; counting misses a few times, in many passes.
  if (limits_.exact) return share * static_cast<double>(visits) < 0.5 ? Fit::fits : Fit::exceeds;
  return share <= limits_.fits ? Fit::fits : share < limits_.exceeds ? Fit::unclear : Fit::exceeds;
}

std::string Gauge::thresholds() const {
  if (limits_.exact) return "one miss per pass";
  return fmt::format("fits: at most {:g} {}; does not fit: at least {:g}", limits_.fits, limits_.unit,
                     limits_.exceeds);
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
    else if (patterns[i].pair != 0) // of which the second access hits in the first level, or none does
      all.push_back({(*readings[i].ns - first_hit_) / (hit_ + penalty_ - first_hit_), {}});
    else
      all.push_back({(*readings[i].ns - (crosses_pages ? *hit.ns - first_hit_ : 0) - hit_) / penalty_, {}});
  }
  if (!cached_.abilities().exact) return all;
  for (std::size_t i = 0; i < patterns.size(); ++i) // a pass misses a whole number of times
    if (auto& value = all[i].value) {
      const auto visits = static_cast<double>(patterns[i].visits());
      value = std::round(*value * visits) / visits + 0.0; // no negative zero
    }
  return all;
}

namespace {

std::vector<Fit> judge_all(Gauge& gauge, const Family& family, const std::vector<std::int64_t>& members) {
  const auto patterns = base::mapped(members, family);
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
    const auto fits = judge_all(gauge, family, members);
    Boundary next = b;
    for (std::size_t i = 0; i < members.size() && next.exceeds == b.exceeds; ++i) {
      if (fits[i] == Fit::exceeds) next.exceeds = members[i];
      if (fits[i] == Fit::fits) next.fits = members[i];
    }
    if (next.fits == b.fits && next.exceeds == b.exceeds) return b; // all in between are unclear
    b = next;
  }
  return b;
}

Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first, std::int64_t most) {
  Boundary b{0, 0};
  for (std::int64_t n = first; n <= most && b.exceeds == 0; n *= 2)
    (judge_all(gauge, family, {n}).front() == Fit::exceeds ? b.exceeds : b.fits) = n;
  return b;
}

namespace {

constexpr std::int64_t survey_from = 2048, survey_line = 64; ///< bytes; longer lines than that only help
constexpr std::int64_t survey_huge_from = 8 << 20;           ///< bytes from which large pages are requested
constexpr std::int64_t survey_wide_from = 32 << 20;          ///< bytes
constexpr double flat_most = 1.1;
constexpr double floor_spread = 1.01;
constexpr double max_spread = 1.33; ///< quiet machines have 1.0 to 1.15, busy ones 1.8 and more

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
    // Sizes per doubling: fewer where they take longer.
    const int steps = size < survey_huge_from ? 4 : size < survey_wide_from ? 2 : 1;
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
  auto ns = base::mapped(curve, &SizePoint::ns);
  std::ranges::sort(ns);
  for (std::size_t i = 0; i + floor_points <= ns.size(); ++i)
    if (ns[i + floor_points - 1] <= floor_spread * ns[i]) return ns[i];
  return ns.front();
}

bool agree_at_floor(const std::vector<SizePoint>& curve) {
  const double floor = floor_of(curve);
  std::size_t at = 0, below = 0;
  for (const SizePoint& point : curve)
    if (point.ns * floor_spread < floor)
      ++below;
    else if (point.ns <= floor_spread * floor)
      ++at;
  return at >= floor_points && below < floor_points;
}

std::string describe_noise(const std::vector<SizePoint>& curve, std::int64_t from, std::int64_t to) {
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
  if (const double usual = statistics::median(spreads); usual > max_spread)
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
