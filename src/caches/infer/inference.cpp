// The inference: by misses where addresses choose the sets, else by time and counters under random placement.
#include "caches/infer/inference.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "caches/infer/colours.hpp"
#include "caches/infer/findings.hpp"
#include "caches/infer/sampler.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <memory>

namespace recount::caches {

std::string to_string(Confidence confidence) {
  switch (confidence) {
  case Confidence::low: return "low";
  case Confidence::medium: return "medium";
  case Confidence::high: return "high";
  case Confidence::none: break;
  }
  return "none";
}

std::string to_string(StatedMatch agreement) {
  switch (agreement) {
  case StatedMatch::agrees: return "agrees";
  case StatedMatch::near: return "near";
  case StatedMatch::differs: return "differs";
  case StatedMatch::not_found: return "not found";
  case StatedMatch::not_stated: break;
  }
  return "not stated";
}

std::string to_string(SharingSign sign) {
  switch (sign) {
  case SharingSign::hit_times_drift: return "hit times drift";
  case SharingSign::next_level_varies: return "next level varies";
  case SharingSign::later_look_differs: return "later look differs";
  }
  return {};
}

namespace {

/// "L1d" for 0, "L2" for 1 ...
std::string level_name(std::size_t level) {
  return level == 0 ? "L1d" : fmt::format("L{}", level + 1);
}

/// A level of which nothing is known, for one reason.
LevelFinding unknown_level(const std::string& name, const std::string& reason) {
  LevelFinding finding;
  finding.name = name;
  finding.geometry.unknown = finding.geometry.line_unknown = reason;
  finding.capacity = unknown_property("capacity", "bytes", reason);
  finding.line = unknown_property("line", "bytes", reason);
  finding.ways = unknown_property("ways", "lines", reason);
  finding.latency = unknown_property("latency", "ns", reason);
  finding.penalty = unknown_property("penalty", "ns", reason);
  return finding;
}

/// Measurements just beyond L2.
struct BeyondSecond {
  double hit = 0;                ///< ns; 0: nothing was
  std::int64_t from = 0, to = 0; ///< bytes of the working sets that show it
};

/// Bytes: working sets up to here were measured in rounds enough to compare them.
constexpr std::int64_t many_rounds_to = std::int64_t{8} << 20;
constexpr double still_rising = 1.25;     ///< over the last doubling of the working set
constexpr double least_memory_step = 1.5; ///< over the plateau before; else memory follows L2

std::string rounded(double bytes) {
  return base::format_bytes(std::round(bytes / (1 << 20)) * (1 << 20));
}

/// The working set at which the time passes `ns`, between the points of the curve.
double size_at(const std::vector<SizePoint>& curve, double ns) {
  const auto above = std::ranges::find(curve, first_above(curve, ns), &SizePoint::bytes);
  if (above == curve.end() || above == curve.begin()) return 0;
  const auto below = above - 1;
  const double part = std::clamp((ns - below->ns) / (above->ns - below->ns), 0.0, 1.0);
  const auto from = static_cast<double>(below->bytes), to = static_cast<double>(above->bytes);
  return from * std::pow(to / from, part);
}

void fill_effective_capacity(Property& p, const std::vector<SizePoint>& curve, double hit, double memory) {
  const double capacity = size_at(curve, (hit + memory) / 2);
  if (capacity == 0) return;
  p.unknown.clear();
  p.value = capacity;
  p.tolerance = 0.5;
  p.confidence = Confidence::low;
  p.quantity = "ns per access";
  p.threshold = fmt::format("midpoint between {:.0f} ns and {:.0f} ns", hit, memory);
  p.against = "larger working sets had the same time";
  p.routes = {{"working set at the midpoint to memory", capacity}};
  for (const SizePoint& point : curve)
    if (static_cast<double>(point.bytes) > capacity / 6)
      p.points.push_back({base::format_bytes(point.bytes), point.ns});
  p.words.push_back(fmt::format(
      "The access time rises from {:.0f} ns to {:.0f} ns; its midpoint is at about {}: the share of the last "
      "level that this machine has at present.",
      hit, memory, rounded(capacity)));
  p.evidence = fmt::format("midpoint between {:.0f} ns (hit) and {:.0f} ns (memory)", hit, memory);
}

/// Adds the part of the last level that this machine has, and the latency of memory.
void add_outer_levels(Caches& found, const BeyondSecond& beyond) {
  const auto& curve = found.curve;
  const SizePoint &last = curve.back(), &before = curve[curve.size() - 2];
  LevelFinding finding =
      unknown_level(level_name(found.levels.size()), "it is shared, and its sets are selected by a hash");
  finding.effective = true;
  finding.measure = "access time";
  finding.latency = time_property(
      "latency", beyond.hit, Confidence::medium,
      {fmt::format("Working sets that always miss in L2 take {:.1f} ns per access, TLB misses subtracted.",
                   beyond.hit)});
  if (const std::string noise = noise_of(curve, beyond.from, beyond.to); !noise.empty())
    finding.latency = unknown_property("latency", "ns", noise);
  if (last.ns > still_rising * before.ns) {
    const std::string why = fmt::format("the access time still rises at {}, the largest working set measured",
                                        rounded(static_cast<double>(last.bytes)));
    finding.capacity.unknown = finding.penalty.unknown = why;
    found.memory = unknown_property("latency", "ns", why);
    found.levels.push_back(std::move(finding));
    return;
  }
  std::string noise = noise_of(curve, before.bytes, last.bytes);
  if (noise.empty()) noise = noise_of(curve, many_rounds_to / 2, many_rounds_to);
  if (!noise.empty()) {
    finding.capacity.unknown = finding.penalty.unknown = noise;
    found.memory = unknown_property("latency", "ns", noise);
    found.levels.push_back(std::move(finding));
    return;
  }
  const double memory = std::min(last.ns, before.ns);
  found.memory =
      time_property("latency", memory, Confidence::medium,
                    {fmt::format("Working sets of {} to {} take {:.0f} ns per access, TLB misses included.",
                                 rounded(static_cast<double>(before.bytes)),
                                 rounded(static_cast<double>(last.bytes)), memory)});
  if (memory < least_memory_step * beyond.hit) return; // what follows L2 is memory itself
  fill_effective_capacity(finding.capacity, curve, beyond.hit, memory);
  finding.penalty =
      time_property("penalty", memory - beyond.hit, Confidence::low,
                    {fmt::format("{:.0f} ns from memory - {:.0f} ns for a hit.", memory, beyond.hit)});
  found.levels.push_back(std::move(finding));
}

/// What is known of the levels above one.
class LevelsAbove {
public:
  LevelsAbove(CachedSampler& cached, std::size_t counted) {
    for (std::size_t level = 0; level < counted; ++level)
      gauges_.push_back(std::make_unique<CountGauge>(cached, level));
  }
  [[nodiscard]] CountGauge& gauge(std::size_t level) { return *gauges_[level]; }
  [[nodiscard]] Neighbours around(std::size_t level) const {
    Neighbours n;
    if (level > 0) n.above = gauges_[level - 1].get();
    if (level + 1 < gauges_.size()) n.below = gauges_[level + 1].get();
    n.inner = inner_;
    n.capacity_above = capacity_;
    n.line_above = line_;
    return n;
  }
  /// Takes a level in; false when it is not known well enough to look beyond it.
  bool take(const Geometry& g) {
    if (!g.unknown.empty() || g.shapes.size() != 1) return false;
    const Shape& shape = g.shapes.front();
    if (shape.ways < inner_.ways && !g.inclusive && !seen_hidden(g, shape)) return false;
    inner_.ways = g.inclusive ? shape.ways : std::max(inner_.ways, shape.ways);
    inner_.period = common_multiple(inner_.period, shape.way_bytes());
    if (capacity_ == 0) line_ = shape.line;
    capacity_ = shape.capacity();
    return inner_.period != 0;
  }

private:
  /// Whether lines were seen to stay in the levels above that this one has no room for: it is not inclusive.
  [[nodiscard]] bool seen_hidden(const Geometry& g, const Shape& shape) const {
    return std::ranges::any_of(g.conflicts, [&](const Conflict& c) {
      return c.lines.exceeds != 0 && c.lines.fits == inner_.ways &&
             lines_retained(shape, c.stride) < inner_.ways;
    });
  }

  std::vector<std::unique_ptr<CountGauge>> gauges_;
  Inner inner_;
  std::int64_t capacity_ = 0, line_ = 16;
};

const std::vector<std::string> method_by_counts = {
    "Every pattern is visited until the caches are warm; then the misses of further passes are counted.",
    "L1: dense working sets, one access per line, grow until accesses miss. The number of lines retained at "
    "power-of-two strides gives the ways; pairs of accesses give the line size.",
    "L2: two things change. Working sets and strides grow with the capacity. Every access must miss in L1: "
    "lines are a multiple of the L1 way size apart, so all map to one L1 set. If fewer are needed than L1 "
    "has "
    "ways, further lines of that L1 set, from other L2 sets, evict them."};

/// "L1d misses per access (PAPI_L1_DCM)".
std::string measure_by_counts(std::size_t level) {
  return fmt::format("{} misses per access ({})", level_name(level), miss_metric(level));
}

/// What the counted events mean, for people.
std::string meaning_of_counts(const Abilities& can) {
  if (can.witness.modelled())
    return "PAPI_L1_DCM, PAPI_L2_DCM: demand misses of the simulated levels. Prefetches and page walks are "
           "not "
           "included.";
  return "PAPI_L1_DCM counts lines brought into L1; on many CPUs prefetches and page walks are included. "
         "PAPI_L2_DCM is often derived from references to the last level, which include the L2 prefetcher. "
         "Counts are therefore compared with a threshold, not with 0, and the patterns are unpredictable for "
         "prefetchers.";
}

/// From misses of every level, where addresses choose the sets.
void infer_by_counts(Caches& found, CachedSampler& cached, const StageCallback& stage) {
  const Abilities& can = cached.abilities();
  LevelsAbove above(cached, can.counted);
  bool known = true;
  for (std::size_t level = 0; level < can.counted; ++level) {
    LevelFinding finding = unknown_level(level_name(level), "the witness counts misses and measures no time");
    stage(finding.name);
    finding.measure = measure_by_counts(level);
    if (known)
      finding.geometry = find_geometry(cached, above.gauge(level), above.around(level));
    else
      finding.geometry.unknown = finding.geometry.line_unknown = "the level above is not known well enough";
    fill_from_geometry(finding, {cached, above.gauge(level), finding.name, finding.measure, can.exact});
    known = known && above.take(finding.geometry);
    found.levels.push_back(std::move(finding));
  }
  if (can.counted_tlbs > 0) {
    stage("TLB");
    const std::int64_t line = found.levels.front().geometry.line.value_or(64);
    found.tlbs = tlb_findings(find_translation(cached, line), can.exact);
  }
  found.method = method_by_counts;
  found.method.push_back(meaning_of_counts(can));
}

constexpr std::int64_t dead_check_bytes = std::int64_t{4} << 20;
constexpr double least_counted = 0.05; ///< misses per access
constexpr double usual_ways = 12;      ///< of a first level, where they are unknown
/// Of the capacity: working sets that fit although a few lines are the system's.
constexpr double drift_from = 0.6, drift_to = 0.96;
constexpr double least_drift = 0.03;             ///< of the penalty: undisturbed levels show 0.01 at most
constexpr double evicted = 0.5, kept = 0.1;      ///< shares that miss
constexpr double most_variation = 1.2;           ///< of rounds of one working set within the second level
constexpr std::int64_t seed_of_later_look = 500; ///< another key on record than the first look's
constexpr double first_rise = 1.15, second_rise = 1.25; ///< over a plateau: a level is left

const std::vector<std::string> method_by_time = {
    "Dependent loads: pointers lead through the working set in random order, so neither overlap nor "
    "prefetching hides a miss. Each point is visited in several rounds, in random order, in slices of about "
    "40 microseconds; the minimum over rounds is used, because disturbances only add time.",
    "The clock rate of the core changes with load and temperature. A chain of dependent multiplications, "
    "timed before, between and after the slices, measures it. Times of working sets up to 8 MiB are "
    "normalised to the rate of the first one.",
    "L1: the page offset selects the set, so lines at chosen strides conflict. The cost of translation is "
    "measured with the same pages and lines spread over all sets, and subtracted. Of all combinations of "
    "ways "
    "and way size, the one most probable given the readings of all strides is stated if its probability "
    "exceeds "
    "0.99; working sets around the resulting capacity confirm or contradict it.",
    "L2: physical addresses select the set, and pages are placed at random, so sets fill unevenly and the "
    "curve rises gradually. The cost of TLB misses is subtracted; pages are grouped into colours whose lines "
    "map to the same sets."};

/// From times, and for the first levels from misses where they are counted, where pages lie anywhere.
class ByTime {
public:
  ByTime(Caches& found, CachedSampler& cached, Sampler& sampler, const StageCallback& stage)
      : found_(found), sampler_cache_(cached), can_(cached.abilities()), sampler_(sampler), stage_(stage) {}

  void run() {
    found_.method = method_by_time;
    if (can_.counted > 0) found_.method.push_back(meaning_of_counts(can_));
    try {
      check_counters();
      find_first_plateaus();
      first_level();
      stage_("TLB");
      translation_ = find_translation(sampler_cache_, line());
      found_.tlbs = tlb_findings(translation_, false);
      if (!found_.levels.empty()) doubt_tlbs(found_.tlbs, translation_, found_.levels.front());
      second_level();
      if (outer_.hit > 0) add_outer_levels(found_, outer_);
      look_again();
      doubt_first_level();
      report_huge_pages();
    } catch (const Unknown& unknown) {
      if (found_.levels.empty()) found_.levels.push_back(unknown_level("L1d", unknown.reason));
      found_.memory = unknown_property("latency", "ns", unknown.reason);
    }
  }

private:
  /// Refused where the working sets that show it are noise.
  void refuse_noise(Property& p, std::int64_t from, std::int64_t to) const {
    if (const std::string noise = noise_of(found_.curve, from, to); p.value && !noise.empty())
      p = unknown_property(p.name, p.unit, noise);
  }

  /// Where others use ways of a first level, working sets within the rest take longer than a hit: the more of
  /// it they fill the longer, and differently in each round. Working sets that are certain to fit are the
  /// reference. The survey and the later readings around the capacity must both show it: it lasts.
  void find_drift(LevelFinding& first) const {
    const double capacity = *first.capacity.value, hit = first_hit_, penalty = second_hit_ - first_hit_;
    std::vector<SizePoint> around;
    const std::int64_t lines = std::llround(capacity) / line();
    for (const double part : {0.5, 0.625, 0.75, 0.8125, 0.875, 0.9375}) {
      const auto pattern = kernel::dense(std::llround(part * static_cast<double>(lines)), line());
      if (const Reading reading = sampler_cache_.read(pattern); reading.ns)
        around.push_back({pattern.count * pattern.stride, *reading.ns,
                          reading.repeated_ns.value_or(*reading.ns) / *reading.ns});
    }
    const SizePoint* worst = nullptr;
    double most = 0, usual = hit;
    for (const auto* group : std::initializer_list<const std::vector<SizePoint>*>{&found_.curve, &around}) {
      std::vector<double> small;
      for (const SizePoint& p : *group)
        if (static_cast<double>(p.bytes) <= 0.5 * capacity) small.push_back(p.ns * p.spread);
      const double reference = small.empty() ? hit : statistics::median(small);
      double drift = 0;
      for (const SizePoint& p : *group) {
        const auto size = static_cast<double>(p.bytes);
        if (size < drift_from * capacity || size > drift_to * capacity) continue;
        const double beyond = (p.ns * p.spread - reference) / penalty;
        drift = std::max(drift, beyond);
        if (beyond <= most) continue;
        most = beyond;
        worst = &p;
        usual = reference;
      }
      if (drift < least_drift) return;
    }
    first.shared_use.push_back(
        {SharingSign::hit_times_drift, worst->bytes, usual, worst->ns * worst->spread});
  }

  /// The lines of one set once more, some seconds after they decided the ways.
  void look_again() {
    LevelFinding& first = found_.levels.front();
    if (can_.counted > 0 || !first.ways.value || first.geometry.shapes.size() != 1) return;
    const Shape& shape = first.geometry.shapes.front();
    std::vector<kernel::Pattern> before, later;
    for (std::int64_t n = shape.ways + 1; n <= shape.ways + 4; ++n) {
      before.push_back(kernel::dense(n, std::max(shape.way_bytes(), can_.page)));
      later.push_back(before.back());
      later.back().seed = seed_of_later_look;
    }
    TimeGauge gauge(sampler_cache_, first_hit_, second_hit_ - first_hit_, shape.line);
    const auto shares_before = gauge.available_shares(before), shares_later = gauge.available_shares(later);
    std::int64_t retained = shape.ways;
    for (std::size_t i = 0; i < later.size(); ++i) {
      if (!shares_before[i] || !shares_later[i] || *shares_before[i] < evicted || *shares_later[i] > kept)
        break;
      ++retained;
    }
    // Caches with an odd number of ways are rare, one line more is noise where the number is even.
    if (retained - shape.ways >= (shape.ways % 2 == 0 ? 2 : 1))
      first.shared_use.push_back({SharingSign::later_look_differs, 0, static_cast<double>(shape.ways),
                                  static_cast<double>(retained)});
  }

  /// What was measured is then an effective share, and so is what the second level has left.
  void doubt_first_level() {
    LevelFinding& first = found_.levels.front();
    if (!first.capacity.value || !first.ways.value) return;
    // Ways larger than a page overflow where their pages lie badly.
    if (*first.capacity.value <= *first.ways.value * static_cast<double>(can_.page)) find_drift(first);
    if (first.shared_use.empty()) return;
    const auto mark = [](LevelFinding& level) {
      level.effective = true;
      for (Property* p : {&level.capacity, &level.ways})
        if (p->value) p->confidence = Confidence::low;
    };
    mark(first);
    if (found_.levels.size() < 2) return;
    std::size_t varying = 0;
    SharedUse sign{SharingSign::next_level_varies, 0, most_variation, 0};
    for (const SizePoint& p : found_.curve)
      if (p.bytes > 4 * first_onset_ && 2 * p.bytes < 3 * second_onset_ && p.spread > most_variation) {
        ++varying;
        if (p.spread > sign.measured) sign.bytes = p.bytes;
        sign.measured = std::max(sign.measured, p.spread);
      }
    if (varying < 2) return;
    first.shared_use.push_back(sign);
    found_.levels[1].shared_use.push_back(sign);
    mark(found_.levels[1]);
  }

  [[nodiscard]] std::int64_t line() const {
    return static_cast<std::int64_t>(found_.levels.front().line.value.value_or(64));
  }

  void report_huge_pages() {
    const auto pages = sampler_.huge_pages();
    if (!pages || pages->requested == 0) return;
    const auto mebibytes = [](std::int64_t bytes) { return (bytes + (1 << 19)) >> 20; };
    const std::string how = pages->granted == 0 ? "were not granted"
                            : 10 * pages->granted < 9 * pages->requested
                                ? fmt::format("were granted for {} MiB of {}", mebibytes(pages->granted),
                                              mebibytes(pages->requested))
                                : "were granted";
    found_.method.push_back(fmt::format(
        "Huge pages were requested from 8 MiB and {}{}. L2 was measured in pages of {} KiB at random "
        "physical addresses; their colours were determined by measurement.",
        how,
        pages->granted == 0 ? ": times of the last level and of memory include TLB misses"
                            : "; TLB misses remain if the host backs them with small pages",
        can_.page >> 10));
  }

  /// Lines in random order over far more than a first level holds nearly all miss in it. A counter that shows
  /// none is dead, as many are in virtual machines, and nothing follows from it.
  void check_counters() {
    if (can_.counted == 0) return;
    const auto pattern = kernel::dense(std::min(dead_check_bytes, can_.most_bytes) / 64, 64);
    const Reading reading = sampler_cache_.read(pattern);
    if (reading.misses.empty() || !reading.misses.front() || *reading.misses.front() >= least_counted) return;
    found_.dead_counters = true;
    throw Unknown{fmt::format(
        "{} counts nothing here: {:.4f} misses per access over {} in random order, where nearly every "
        "access misses; --witness clock needs no counters",
        miss_metric(0), *reading.misses.front(), base::format_bytes(pattern.count * pattern.stride))};
  }

  void find_first_plateaus() {
    stage_("working sets");
    found_.curve = survey(sampler_cache_, can_.most_bytes);
    first_hit_ = floor_of(found_.curve);
    const std::int64_t onset = first_above(found_.curve, first_rise * first_hit_);
    const auto plateau = onset == 0 ? std::nullopt : flattest(found_.curve, 2 * onset, 6 * onset);
    second_hit_ = plateau ? plateau->ns : least_beyond(onset);
    of_second_hit_ = plateau ? Confidence::high : Confidence::low;
    if (onset == 0 || second_hit_ < second_rise * first_hit_)
      throw Unknown{"the access time has no second plateau: too much noise, or no second level"};
    first_onset_ = first_above(found_.curve, (first_hit_ + second_hit_) / 2);
  }

  /// Where the second level is small or the translation costly, times never stay the same: the least then.
  [[nodiscard]] double least_beyond(std::int64_t onset) const {
    double least = 0;
    for (const SizePoint& p : found_.curve)
      if (2 * p.bytes >= 3 * onset && p.bytes <= 4 * onset && (least == 0 || p.ns < least)) least = p.ns;
    return least;
  }

  void first_level() {
    stage_("L1d");
    LevelFinding finding = unknown_level("L1d", {});
    std::unique_ptr<Gauge> gauge;
    if (can_.counted > 0)
      gauge = std::make_unique<CountGauge>(sampler_cache_, 0);
    else
      gauge = std::make_unique<TimeGauge>(sampler_cache_, first_hit_, second_hit_ - first_hit_, 64);
    finding.measure = can_.counted > 0 ? measure_by_counts(0) : "L1d miss rate, from time";
    finding.geometry = can_.counted > 0 ? find_geometry(sampler_cache_, *gauge, {})
                                        : find_timed_geometry(sampler_cache_, *gauge, first_onset_);
    fill_from_geometry(finding, {sampler_cache_, *gauge, finding.name, finding.measure, false});
    finding.latency =
        time_property("latency", first_hit_, Confidence::high,
                      {fmt::format("Working sets that fit take {:.2f} ns per access.", first_hit_)});
    finding.penalty = time_property(
        "penalty", second_hit_ - first_hit_, of_second_hit_,
        {fmt::format(
            "Average access time = hit time + miss rate x penalty: {0:.2f} ns at miss rate 0, {1:.2f} ns at "
            "miss rate 1 in L1d and 0 in the next level. Penalty: {2:.2f} ns.",
            first_hit_, second_hit_, second_hit_ - first_hit_)});
    refuse_noise(finding.latency, 0, first_onset_ / 2);
    if (!agree_at_floor(found_.curve))
      finding.latency =
          unknown_property("latency", "ns", fmt::format("no {} working sets agree within 1 %", floor_points));
    refuse_noise(finding.penalty, 2 * first_onset_, 6 * first_onset_);
    finding.latency.against = "a working set within the capacity took longer";
    finding.penalty.against =
        "there were no plateau between the capacities of the first and the second level";
    found_.levels.push_back(std::move(finding));
  }

  /// The survey up to where large pages are asked for, without what translation costs.
  [[nodiscard]] std::vector<SizePoint> without_translation() const {
    std::vector<SizePoint> net;
    for (const SizePoint& p : found_.curve)
      if (!survey_pattern(p.bytes).huge)
        net.push_back({p.bytes, p.ns - translation_.random_cost(p.bytes / can_.page)});
    return net;
  }

  void second_level() {
    stage_("L2");
    const auto net = without_translation();
    const std::int64_t onset = second_onset_ = first_above(net, second_rise * second_hit_);
    std::vector<double> beyond;
    for (const SizePoint& p : net)
      if (onset > 0 && p.bytes > 2 * onset && p.bytes < 5 * onset) beyond.push_back(p.ns);
    LevelFinding finding = unknown_level(
        "L2", onset == 0 ? fmt::format("no misses up to {}", base::format_bytes(net.back().bytes))
                         : "no plateau beyond it");
    if (beyond.size() >= 2) {
      outer_ = {statistics::median(beyond), 2 * onset, 5 * onset};
      geometry_of_second(finding, onset, outer_.hit < 1.4 * std::ranges::min(beyond));
      finding.penalty = time_property(
          "penalty", outer_.hit - second_hit_, Confidence::medium,
          {fmt::format("Average access time = hit time + miss rate x penalty, TLB misses "
                       "subtracted: {:.2f} ns at miss rate 0, {:.1f} ns at miss rate 1 (working "
                       "sets of {} to {}). Penalty: {:.1f} ns.",
                       second_hit_, outer_.hit, base::format_bytes(outer_.from),
                       base::format_bytes(outer_.to), outer_.hit - second_hit_)});
      refuse_noise(finding.penalty, outer_.from, outer_.to);
    }
    finding.measure = "L2 miss rate, from time";
    finding.latency = time_property(
        "latency", second_hit_, of_second_hit_,
        {fmt::format("Working sets that always miss in L1d and fit L2 take {:.2f} ns per access.",
                     second_hit_)});
    refuse_noise(finding.latency, 2 * first_onset_, 6 * first_onset_);
    found_.levels.push_back(std::move(finding));
  }

  void geometry_of_second(LevelFinding& finding, std::int64_t onset, bool next_is_level) {
    const LevelFinding& first = found_.levels.front();
    PagedTask task;
    task.first_hit = first_hit_;
    task.hit = second_hit_;
    task.next_hit = outer_.hit;
    task.line = line();
    // Where the first level is unknown, what few caches exceed serves: more ways only cost a few lines more.
    task.capacity_above =
        static_cast<std::int64_t>(first.capacity.value.value_or(static_cast<double>(first_onset_)));
    // Lines at one page offset share a set of the first level, or as many sets as a way has pages.
    task.ways_above = std::max(static_cast<std::int64_t>(first.ways.value.value_or(usual_ways)),
                               task.capacity_above / can_.page);
    if (first.capacity.value && first.ways.value)
      task.page_sets_above = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(*first.capacity.value / *first.ways.value) / can_.page);
    task.around = onset;
    task.next_is_level = next_is_level;
    task.translation = &translation_;
    fill_from_pages(finding, sampler_cache_, sampler_, task);
  }

  Caches& found_;
  CachedSampler& sampler_cache_;
  const Abilities& can_;
  Sampler& sampler_;
  const StageCallback& stage_;
  Translation translation_;
  double first_hit_ = 0, second_hit_ = 0; ///< ns
  Confidence of_second_hit_ = Confidence::none;
  std::int64_t first_onset_ = 0;  ///< bytes: half of the rise from the first to the second
  std::int64_t second_onset_ = 0; ///< bytes: where the second level begins to be left
  BeyondSecond outer_;
};

} // namespace

bool needs_more_readings(const Caches& found, Wanted wanted) {
  const auto undecided = [](const LevelFinding& level) {
    return !level.capacity.value || !level.line.value || !level.ways.value;
  };
  if (found.dead_counters) return false; // no more readings would change that
  if (found.levels.empty() || undecided(found.levels.front()) || found.levels.front().effective) return true;
  if (wanted == Wanted::first_level) return false;
  if (found.levels.size() < 2 || undecided(found.levels[1]) ||
      found.levels[1].capacity.confidence == Confidence::low)
    return true;
  if (wanted == Wanted::two_levels) return false;
  return found.tlbs.size() < 2 ||
         std::ranges::any_of(found.tlbs, [](const TlbFinding& tlb) { return !tlb.entries.value; });
}

Caches infer_caches(Sampler& sampler, const StageCallback& stage) {
  CachedSampler cached(sampler);
  const Abilities& can = sampler.abilities();
  Caches found;
  found.witness = can.witness;
  found.modelled = can.witness.modelled();
  found.memory = unknown_property("latency", "ns", "the witness counts misses and measures no time");
  const StageCallback reported = stage ? stage : [](const std::string&) {};
  if (can.contiguous && can.counted > 0)
    infer_by_counts(found, cached, reported);
  else
    ByTime(found, cached, sampler, reported).run();
  found.readings = cached.taken().size();
  for (const auto& [pattern, reading] : cached.taken()) {
    found.rounds += reading.rounds;
    found.disturbed += reading.disturbed;
  }
  return found;
}

} // namespace recount::caches
