// The inference: by misses where addresses choose the sets, else by time and counters under random placement.

#include "base/format.hpp"
#include "base/statistics/statistics.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/infer/second_level.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::caches {

namespace {

/// The known levels above the next one.
class LevelsAbove {
public:
  explicit LevelsAbove(std::vector<std::unique_ptr<Gauge>> gauges) : gauges_(std::move(gauges)) {}
  [[nodiscard]] Gauge& gauge(std::size_t level) { return *gauges_[level]; }
  [[nodiscard]] Neighbours around(std::size_t level) {
    Neighbours n = above_;
    if (level > 0) n.above = gauges_[level - 1].get();
    if (level + 1 < gauges_.size()) n.below = gauges_[level + 1].get();
    return n;
  }
  /// Adds a level; false if the next one cannot be measured below it.
  bool add(const Geometry& g) {
    if (!g.unknown.empty() || !g.shape) return false;
    const Shape& shape = *g.shape;
    Inner& inner = above_.inner;
    if (shape.ways < inner.ways && !g.inclusive && !is_not_inclusive(g)) return false;
    inner.ways = g.inclusive ? shape.ways : std::max(inner.ways, shape.ways);
    inner.period = common_multiple(inner.period, shape.way_bytes());
    if (above_.capacity_above == 0) above_.line_above = shape.line;
    above_.capacity_above = shape.capacity();
    return inner.period != 0;
  }

private:
  /// Whether the levels above retained more lines of a set than this level has ways.
  [[nodiscard]] bool is_not_inclusive(const Geometry& g) const {
    return std::ranges::any_of(g.conflicts, [&](const Conflict& c) {
      return c.lines.exceeds != 0 && c.lines.fits == above_.inner.ways &&
             lines_retained(*g.shape, c.stride) < above_.inner.ways;
    });
  }

  std::vector<std::unique_ptr<Gauge>> gauges_;
  Neighbours above_;
};

const std::vector<std::string> method_by_counts = {
    "Every pattern is visited until the caches are warm; then the misses of further passes are counted.",
    "L1: dense working sets, one access per line, grow until accesses miss. The number of lines retained at "
    "power-of-two strides gives the ways; pairs of accesses give the line size.",
    "L2: two things change. Working sets and strides grow with the capacity. Every access must miss in L1: "
    "lines are a multiple of the L1 way size apart, so all map to one L1 set. If fewer are needed than L1 "
    "has ways, further lines of that L1 set, from other L2 sets, evict them."};

std::string meaning_of_counts(const Abilities& abilities) {
  if (!abilities.events.empty())
    return "Misses are counted by events of loads, without prefetches of the hardware. Exact counts are "
           "compared with one miss per pass, others with a threshold.";
  return "PAPI_L1_DCM counts lines brought into L1; on many CPUs prefetches and page walks are included. "
         "PAPI_L2_DCM is often derived from references to the last level, which include the L2 prefetcher. "
         "Counts are therefore compared with a threshold, not with 0, and the patterns are unpredictable for "
         "prefetchers.";
}

/// From exact misses of every level, where addresses choose the sets. `measure`: what they are measured by.
void find_levels(Caches& found, CachedSampler& cached, std::vector<std::unique_ptr<Gauge>> gauges,
                 const std::function<std::string(std::size_t)>& measure, const StageCallback& stage) {
  const std::size_t count = gauges.size();
  LevelsAbove above(std::move(gauges));
  bool known = true;
  for (std::size_t level = 0; level < count; ++level) {
    LevelFinding finding = unknown_level(level_name(level), "the witness counts misses and measures no time");
    stage(finding.name);
    finding.measure = measure(level);
    if (known)
      finding.geometry = find_geometry(cached, above.gauge(level), above.around(level));
    else
      finding.geometry.unknown = finding.geometry.line_unknown = "the level above is not known well enough";
    fill_from_geometry(finding, above.gauge(level));
    known = known && above.add(finding.geometry);
    found.levels.push_back(std::move(finding));
  }
}

void infer_by_counts(Caches& found, CachedSampler& cached, const StageCallback& stage) {
  const Abilities& abilities = cached.abilities();
  std::vector<std::unique_ptr<Gauge>> gauges;
  for (std::size_t level = 0; level < abilities.counted; ++level)
    gauges.push_back(std::make_unique<CountGauge>(cached, level));
  find_levels(
      found, cached, std::move(gauges), [&](std::size_t level) { return miss_measure(level, abilities); },
      stage);
  if (abilities.counted_tlbs > 0) {
    stage("TLB");
    const std::int64_t line = found.levels.front().geometry.line.value_or(64);
    found.tlbs = tlb_findings(find_translation(cached, line));
  }
}

constexpr std::int64_t survey_exactly_to = std::int64_t{8} << 20; ///< bytes
constexpr std::size_t min_agreeing = 3;                           ///< working sets
constexpr double same_time = 1.03; ///< nanoseconds are whole, and reading a clock evicts a line

/// The time of working sets that all miss in some levels and fit the next one.
struct Plateau {
  double ns = 0;                 ///< the median
  std::int64_t from = 0, to = 0; ///< bytes
  std::vector<double> times;
  [[nodiscard]] std::string text() const {
    return fmt::format("Working sets of {} to {} take {:.2f} ns per access.", base::format_bytes(from),
                       base::format_bytes(to), ns);
  }
};

double in_picoseconds(double ns) {
  return std::round(1000 * ns) / 1000;
}

std::vector<Plateau> find_plateaus(const std::vector<SizePoint>& curve) {
  std::vector<Plateau> all;
  for (const SizePoint& point : curve) {
    if (all.empty() || point.ns > same_time * all.back().ns || all.back().ns > same_time * point.ns)
      all.push_back({point.ns, point.bytes, point.bytes, {}});
    Plateau& last = all.back();
    last.to = point.bytes;
    last.times.push_back(point.ns);
    last.ns = statistics::median(last.times);
  }
  std::erase_if(all, [](const Plateau& one) { return one.times.size() < min_agreeing; });
  return all;
}

const std::vector<std::string> method_by_exact_time = {
    "Dependent loads: pointers lead through the working set in random order. The machine is emulated: times "
    "are exact, so each pattern is timed once, as what further passes over it add.",
    "Where several working sets take the same time, all their accesses hit in one level, and the steps "
    "between these times are the cost of a miss. Time beyond a hit is thus a number of misses. Where lines "
    "are pages apart, that of the same pages with their lines in different sets is subtracted.",
    "An emulated cache chooses its sets by the addresses that the program sees. Lines at chosen strides give "
    "the ways, pairs of accesses the line size.",
    "Data TLBs, and levels beyond that of the last such step, are not looked for."};

/// From times that are the same in each execution, where addresses choose the sets.
void infer_by_exact_time(Caches& found, CachedSampler& cached, const StageCallback& stage) {
  stage("working sets");
  found.curve = survey(cached, std::min(survey_exactly_to, cached.abilities().max_bytes));
  const auto plateaus = find_plateaus(found.curve);
  if (plateaus.size() < 2 || plateaus.front().from != found.curve.front().bytes ||
      !std::ranges::is_sorted(plateaus, {}, &Plateau::ns)) {
    found.levels.push_back(unknown_level("L1d", "the access time has no second plateau"));
    return;
  }
  constexpr std::int64_t assumed_line = 64;
  std::vector<std::unique_ptr<Gauge>> gauges;
  for (std::size_t level = 0; level + 1 < plateaus.size(); ++level)
    gauges.push_back(std::make_unique<TimeGauge>(cached, plateaus[level].ns,
                                                 plateaus[level + 1].ns - plateaus[level].ns, assumed_line,
                                                 plateaus.front().ns));
  const auto measure = [](std::size_t level) { return level_name(level) + " miss rate, from exact time"; };
  find_levels(found, cached, std::move(gauges), measure, stage);
  found.levels.push_back(
      unknown_level(level_name(found.levels.size()), "larger working sets were not timed"));
  for (std::size_t level = 0; level < plateaus.size(); ++level) {
    LevelFinding& finding = found.levels[level];
    const Plateau& own = plateaus[level];
    finding.latency = time_property("latency", in_picoseconds(own.ns), Confidence::high, own.text());
    if (level + 1 < plateaus.size())
      finding.penalty = time_property("penalty", in_picoseconds(plateaus[level + 1].ns - own.ns),
                                      Confidence::high, plateaus[level + 1].text());
  }
}

constexpr std::int64_t dead_check_bytes = std::int64_t{4} << 20;
constexpr double min_counted = 0.05; ///< misses per access
constexpr double assumed_ways = 12;  ///< of an unknown first level
/// Of the capacity: working sets that fit although a few lines are the system's.
constexpr double drift_from = 0.6, drift_to = 0.96;
constexpr double min_drift = 0.03;            ///< of the penalty: undisturbed levels show 0.01 at most
constexpr double evicted = 0.5, kept = 0.1;   ///< shares that miss
constexpr double max_variation = 1.2;         ///< ratio between rounds of one working set that fits L2
constexpr std::int64_t repetition_seed = 500; ///< differs from that of the first measurement on record
/// Ratio to the plateau above which a working set no longer fits.
constexpr double first_rise = 1.15, second_rise = 1.25;
/// Bytes: working sets up to here were measured in rounds enough to compare them.
constexpr std::int64_t many_rounds_to = std::int64_t{8} << 20;
constexpr double still_rising = 1.25;   ///< over the last doubling of the working set
constexpr double min_memory_step = 1.5; ///< over the plateau before; else memory follows L2

std::string rounded(double bytes) {
  return base::format_bytes(std::round(bytes / (1 << 20)) * (1 << 20));
}

/// The working set at which the time reaches `ns`, interpolated; 0: none.
double size_at(const std::vector<SizePoint>& curve, double ns) {
  const auto above = std::ranges::find(curve, first_above(curve, ns), &SizePoint::bytes);
  if (above == curve.end() || above == curve.begin()) return 0;
  const auto below = above - 1;
  const double part = std::clamp((ns - below->ns) / (above->ns - below->ns), 0.0, 1.0);
  const auto from = static_cast<double>(below->bytes), to = static_cast<double>(above->bytes);
  return from * std::pow(to / from, part);
}

/// The inference: each step needs the results of those before it.
class TimeInference {
public:
  TimeInference(Caches& found, CachedSampler& cached, const StageCallback& stage)
      : found_(found), cached_(cached), abilities_(cached.abilities()), stage_(stage) {}

  void run() {
    try {
      check_counters();
      find_first_plateaus();
      first_level();
      stage_("TLB");
      translation_ = find_translation(cached_, line());
      found_.tlbs = tlb_findings(translation_);
      discard_cache_effects(found_.tlbs, translation_, found_.levels.front());
      second_level();
      if (beyond_second_.hit > 0) outer_levels();
      repeat_set_measurement();
      mark_shared_levels();
      report_huge_pages();
    } catch (const Unknown& unknown) {
      if (found_.levels.empty()) found_.levels.push_back(unknown_level("L1d", unknown.reason));
      found_.memory = unknown_property("latency", "ns", unknown.reason);
    }
  }

private:
  /// Working sets that show a time.
  struct Range {
    std::int64_t from = 0, to = 0; ///< bytes
  };

  /// A time, unless the working sets that show it are noise.
  [[nodiscard]] Property time(const char* name, double ns, Confidence confidence, const Range& shown_by,
                              const std::string& evidence) const {
    const std::string noise = describe_noise(found_.curve, shown_by.from, shown_by.to);
    return noise.empty() ? time_property(name, ns, confidence, evidence)
                         : unknown_property(name, "ns", noise);
  }

  [[nodiscard]] std::int64_t line() const {
    return static_cast<std::int64_t>(found_.levels.front().line.value.value_or(64));
  }

  /// Lines in random order over far more than a first level holds nearly all miss in it. A counter that shows
  /// none is dead, as many are in virtual machines, and nothing follows from it.
  void check_counters() {
    if (abilities_.counted == 0) return;
    const auto pattern = kernel::dense(std::min(dead_check_bytes, abilities_.max_bytes) / 64, 64);
    const Reading reading = cached_.read(pattern);
    if (reading.misses.empty() || !reading.misses.front() || *reading.misses.front() >= min_counted) return;
    throw Unknown{
        {fmt::format("{} counts nothing here: {:.4f} misses per access over {} in random order, where nearly "
                     "every access misses",
                     abilities_.counted_by(0).text(), *reading.misses.front(),
                     base::format_bytes(pattern.count * pattern.stride)),
         "", "--witness clock needs no counters", ReasonCode::dead}};
  }

  void find_first_plateaus() {
    stage_("working sets");
    found_.curve = survey(cached_, abilities_.max_bytes);
    first_hit_ = floor_of(found_.curve);
    const std::int64_t onset = first_above(found_.curve, first_rise * first_hit_);
    const auto plateau = onset == 0 ? std::nullopt : flattest(found_.curve, 2 * onset, 6 * onset);
    second_hit_ = plateau.value_or(min_beyond(onset));
    second_hit_confidence_ = plateau ? Confidence::high : Confidence::low;
    if (onset == 0 || second_hit_ < second_rise * first_hit_)
      throw Unknown{"the access time has no second plateau: too much noise, or no second level"};
    first_onset_ = first_above(found_.curve, (first_hit_ + second_hit_) / 2);
  }

  /// Minimum time beyond L1, where no plateau exists: L2 is small, or translation costs much.
  [[nodiscard]] double min_beyond(std::int64_t onset) const {
    double least = 0;
    for (const SizePoint& p : found_.curve)
      if (2 * p.bytes >= 3 * onset && p.bytes <= 4 * onset && (least == 0 || p.ns < least)) least = p.ns;
    return least;
  }

  void first_level() {
    stage_("L1d");
    LevelFinding finding = unknown_level("L1d", {});
    std::unique_ptr<Gauge> gauge;
    if (abilities_.counted > 0)
      gauge = std::make_unique<CountGauge>(cached_, 0);
    else
      gauge = std::make_unique<TimeGauge>(cached_, first_hit_, second_hit_ - first_hit_, 64);
    finding.measure = abilities_.counted > 0 ? miss_measure(0, abilities_) : "L1d miss rate, from time";
    finding.geometry = find_noisy_geometry(*gauge, first_onset_);
    fill_from_geometry(finding, *gauge);
    finding.latency = time("latency", first_hit_, Confidence::high, {0, first_onset_ / 2},
                           fmt::format("Working sets that fit take {:.2f} ns per access.", first_hit_));
    if (!agree_at_floor(found_.curve))
      finding.latency =
          unknown_property("latency", "ns", fmt::format("no {} working sets agree within 1 %", floor_points));
    finding.penalty = time(
        "penalty", second_hit_ - first_hit_, second_hit_confidence_, {2 * first_onset_, 6 * first_onset_},
        fmt::format("Average access time = hit time + miss rate x penalty: {:.2f} ns at miss rate 0, {:.2f} "
                    "ns at miss rate 1 in L1d and 0 in the next level.",
                    first_hit_, second_hit_));
    finding.latency.against = "a working set within the capacity took longer";
    finding.penalty.against =
        "there were no plateau between the capacities of the first and the second level";
    found_.levels.push_back(std::move(finding));
  }

  /// The survey without the cost of TLB misses, up to the working sets in huge pages.
  [[nodiscard]] std::vector<SizePoint> survey_without_tlb_misses() const {
    std::vector<SizePoint> points;
    for (const SizePoint& p : found_.curve)
      if (!survey_pattern(p.bytes).huge)
        points.push_back({p.bytes, p.ns - translation_.random_cost(p.bytes / abilities_.page)});
    return points;
  }

  void second_level() {
    stage_("L2");
    const auto points = survey_without_tlb_misses();
    second_onset_ = first_above(points, second_rise * second_hit_);
    std::vector<double> beyond;
    for (const SizePoint& p : points)
      if (second_onset_ > 0 && p.bytes > 2 * second_onset_ && p.bytes < 5 * second_onset_)
        beyond.push_back(p.ns);
    LevelFinding finding = unknown_level(
        "L2", second_onset_ == 0 ? fmt::format("no misses up to {}", base::format_bytes(points.back().bytes))
                                 : "no plateau beyond it");
    if (beyond.size() >= 2) {
      beyond_second_ = {statistics::median(beyond), {2 * second_onset_, 5 * second_onset_}};
      const auto& [hit, range] = beyond_second_;
      geometry_of_second(finding, hit < 1.4 * std::ranges::min(beyond));
      finding.penalty =
          time("penalty", hit - second_hit_, Confidence::medium, range,
               fmt::format("TLB misses subtracted: {:.2f} ns at miss rate 0, {:.1f} ns at miss "
                           "rate 1 (working sets of {} to {}).",
                           second_hit_, hit, base::format_bytes(range.from), base::format_bytes(range.to)));
    }
    finding.measure = "L2 miss rate, from time";
    finding.latency =
        time("latency", second_hit_, second_hit_confidence_, {2 * first_onset_, 6 * first_onset_},
             fmt::format("Working sets that always miss in L1d and fit L2 take {:.2f} ns per access.",
                         second_hit_));
    found_.levels.push_back(std::move(finding));
  }

  void geometry_of_second(LevelFinding& finding, bool next_is_level) {
    const LevelFinding& first = found_.levels.front();
    SecondLevelTask task;
    task.first_hit = first_hit_;
    task.hit = second_hit_;
    task.next_hit = beyond_second_.hit;
    task.line = line();
    // Unknown L1: assume 12 ways; too many only cost more lines per set.
    const double capacity = first.capacity.value.value_or(static_cast<double>(first_onset_)),
                 ways = first.ways.value.value_or(assumed_ways);
    // Lines at one page offset share a set of the first level, or as many sets as a way has pages.
    task.ways_above =
        std::max(static_cast<std::int64_t>(ways), static_cast<std::int64_t>(capacity) / abilities_.page);
    if (first.capacity.value && first.ways.value)
      task.page_sets_above =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(capacity / ways) / abilities_.page);
    task.onset = second_onset_;
    task.next_is_level = next_is_level;
    task.translation = &translation_;
    fill_second_level(finding, cached_, task);
  }

  /// Adds the part of the last level that this machine has, and the latency of memory.
  void outer_levels() {
    const auto& curve = found_.curve;
    const SizePoint &last = curve.back(), &before = curve[curve.size() - 2];
    const double hit = beyond_second_.hit, memory = std::min(last.ns, before.ns);
    LevelFinding finding = unknown_level(level_name(found_.levels.size()),
                                         "how physical addresses map to its sets is not known");
    finding.effective = true;
    finding.measure = "access time";
    finding.latency = time("latency", hit, Confidence::medium, beyond_second_.range,
                           fmt::format("Working sets that always miss in L2 take {:.1f} ns per access, TLB "
                                       "misses subtracted.",
                                       hit));
    std::string why = describe_noise(curve, before.bytes, last.bytes);
    if (why.empty()) why = describe_noise(curve, many_rounds_to / 2, many_rounds_to);
    if (last.ns > still_rising * before.ns)
      why = fmt::format("the access time still rises at {}, the largest working set measured",
                        rounded(static_cast<double>(last.bytes)));
    if (!why.empty()) {
      finding.capacity.unknown = finding.penalty.unknown = why;
      found_.memory = unknown_property("latency", "ns", why);
      found_.levels.push_back(std::move(finding));
      return;
    }
    found_.memory =
        time_property("latency", memory, Confidence::medium,
                      fmt::format("Working sets of {} to {} take {:.0f} ns per access, TLB misses included.",
                                  rounded(static_cast<double>(before.bytes)),
                                  rounded(static_cast<double>(last.bytes)), memory));
    if (memory < min_memory_step * hit) return; // what follows L2 is memory itself
    if (const double capacity = size_at(curve, (hit + memory) / 2); capacity > 0)
      fill_effective_capacity(finding.capacity, capacity, memory);
    finding.penalty = time_property(
        "penalty", memory - hit, Confidence::low,
        fmt::format("{:.0f} ns from memory, TLB misses included, - {:.0f} ns for a hit: an upper bound.",
                    memory, hit));
    found_.levels.push_back(std::move(finding));
  }

  void fill_effective_capacity(Property& p, double capacity, double memory) const {
    p.unknown = {};
    p.value = capacity;
    p.tolerance = 0.5;
    p.confidence = Confidence::low;
    p.quantity = "ns per access";
    p.threshold = p.evidence =
        fmt::format("midpoint between {:.0f} ns (hit) and {:.0f} ns (memory)", beyond_second_.hit, memory);
    p.against = "larger working sets had the same time";
    p.routes = {{"working set at the midpoint to memory", capacity}};
    for (const SizePoint& point : found_.curve)
      if (static_cast<double>(point.bytes) > capacity / 6)
        p.points.push_back({base::format_bytes(point.bytes), point.ns});
    p.words = {
        "It is a point on a rise, not an edge: other users of the level and the placement of pages move it."};
  }

  /// Measures the lines of one set again, some seconds after they decided the ways.
  void repeat_set_measurement() {
    LevelFinding& first = found_.levels.front();
    if (abilities_.counted > 0 || !first.ways.value || !first.geometry.shape) return;
    const Shape& shape = *first.geometry.shape;
    std::vector<kernel::Pattern> before, later;
    for (std::int64_t n = shape.ways + 1; n <= shape.ways + 4; ++n) {
      before.push_back(kernel::dense(n, std::max(shape.way_bytes(), abilities_.page)));
      later.push_back(before.back());
      later.back().seed = repetition_seed;
    }
    TimeGauge gauge(cached_, first_hit_, second_hit_ - first_hit_, shape.line);
    const auto shares_before = gauge.measure(before), shares_later = gauge.measure(later);
    std::int64_t retained = shape.ways;
    for (std::size_t i = 0; i < later.size(); ++i) {
      if (shares_before[i].value.value_or(0) < evicted || shares_later[i].value.value_or(1) > kept) break;
      ++retained;
    }
    // Caches with an odd number of ways are rare, one line more is noise where the number is even.
    if (retained - shape.ways >= (shape.ways % 2 == 0 ? 2 : 1))
      first.shared_use.push_back({SharingSign::repetition_differs, 0, static_cast<double>(shape.ways),
                                  static_cast<double>(retained)});
  }

  /// If other programs use ways of L1, access time rises with the working set even below the capacity, and
  /// differs between rounds. Small working sets are the reference. Both the survey and the later readings
  /// around the capacity must show it, because such use lasts.
  void find_drift(LevelFinding& first) const {
    const double capacity = *first.capacity.value;
    std::vector<SizePoint> around;
    const std::int64_t lines = std::llround(capacity) / line();
    for (const double part : {0.5, 0.625, 0.75, 0.8125, 0.875, 0.9375}) {
      const auto pattern = kernel::dense(std::llround(part * static_cast<double>(lines)), line());
      if (const Reading reading = cached_.read(pattern); reading.ns)
        around.push_back({pattern.count * pattern.stride, *reading.ns,
                          reading.repeated_ns.value_or(*reading.ns) / *reading.ns});
    }
    const auto repeated = [](const SizePoint& p) { return p.ns * p.spread; };
    SharedUse worst{SharingSign::hit_times_drift};
    for (const auto* group : {&std::as_const(found_.curve), &std::as_const(around)}) {
      std::vector<double> small;
      for (const SizePoint& p : *group)
        if (static_cast<double>(p.bytes) <= 0.5 * capacity) small.push_back(repeated(p));
      const double reference = small.empty() ? first_hit_ : statistics::median(small);
      double longest = reference;
      for (const SizePoint& p : *group) {
        const auto size = static_cast<double>(p.bytes);
        if (size < drift_from * capacity || size > drift_to * capacity) continue;
        longest = std::max(longest, repeated(p));
        if (repeated(p) - reference > worst.measured - worst.expected)
          worst = {SharingSign::hit_times_drift, p.bytes, reference, repeated(p)};
      }
      if (longest - reference < min_drift * (second_hit_ - first_hit_)) return;
    }
    first.shared_use.push_back(worst);
  }

  /// Marks L1 as effective if it is shared, and L2 if its rounds vary.
  void mark_shared_levels() {
    LevelFinding& first = found_.levels.front();
    if (!first.capacity.value || !first.ways.value) return;
    // Ways larger than a page overflow where their pages lie badly.
    if (*first.capacity.value <= *first.ways.value * static_cast<double>(abilities_.page)) find_drift(first);
    if (first.shared_use.empty()) return;
    const auto mark = [](LevelFinding& level) {
      level.effective = true;
      for (Property* p : {&level.capacity, &level.ways})
        if (p->value) p->confidence = Confidence::low;
    };
    mark(first);
    if (found_.levels.size() < 2) return;
    std::size_t varying = 0;
    SharedUse sign{SharingSign::next_level_varies, 0, max_variation, 0};
    for (const SizePoint& p : found_.curve) {
      if (p.bytes <= 4 * first_onset_ || 2 * p.bytes >= 3 * second_onset_ || p.spread <= max_variation)
        continue;
      ++varying;
      if (p.spread > sign.measured) sign = {sign.sign, p.bytes, max_variation, p.spread};
    }
    if (varying < 2) return;
    first.shared_use.push_back(sign);
    found_.levels[1].shared_use.push_back(sign);
    mark(found_.levels[1]);
  }

  void report_huge_pages() {
    const auto pages = cached_.source().huge_pages();
    if (!pages || pages->requested == 0) return;
    found_.method.push_back(fmt::format(
        "Huge pages were requested from 8 MiB and granted for {} of {}; TLB misses remain where they were "
        "not, or where the host backs them with small pages.",
        base::format_bytes(std::min(pages->granted, pages->requested)),
        base::format_bytes(pages->requested)));
  }

  Caches& found_;
  CachedSampler& cached_;
  const Abilities& abilities_;
  const StageCallback& stage_;
  Translation translation_;
  double first_hit_ = 0, second_hit_ = 0; ///< ns
  Confidence second_hit_confidence_ = Confidence::none;
  std::int64_t first_onset_ = 0;  ///< bytes: half of the rise from the first to the second
  std::int64_t second_onset_ = 0; ///< bytes: where the second level begins to be left
  struct {
    double hit = 0; ///< ns; 0: nothing was measured
    Range range;    ///< working sets that show it
  } beyond_second_;
};

const std::vector<std::string> method_by_time = {
    "Dependent loads: pointers lead through the working set in random order, so that no access "
    "overlaps with the next or can be predicted from it. Each point is visited in several rounds, in random "
    "order, in slices of about 40 microseconds. The minimum over rounds is used, because disturbances only "
    "add time; beyond 8 MiB, where others use a part of the level, the median.",
    "The clock rate of the core changes with load and temperature. A chain of dependent multiplications, "
    "timed before, between and after the slices, measures it. Times of working sets up to 8 MiB are "
    "normalised to the rate of the first one.",
    "L1: the page offset selects the set, so lines at chosen strides conflict. The cost of translation is "
    "measured with the same pages and lines spread over all sets, and subtracted. The most probable "
    "combination of ways and way size is stated if its probability exceeds 0.99; working sets around the "
    "resulting capacity confirm or contradict it.",
    "L2: physical addresses select the set, and pages are placed at random, so sets fill unevenly and the "
    "curve rises gradually. The cost of TLB misses is subtracted; pages are grouped into colours whose lines "
    "map to the same sets."};

} // namespace

Settled settled(const Caches& found) {
  const auto undecided = [](const LevelFinding& level) {
    return !level.capacity.value || !level.line.value || !level.ways.value;
  };
  if (found.memory.unknown.code == ReasonCode::dead) return Settled::all; // more readings change nothing
  if (found.levels.empty() || undecided(found.levels.front()) || found.levels.front().effective)
    return Settled::nothing;
  if (found.levels.size() < 2 || undecided(found.levels[1]) ||
      found.levels[1].capacity.confidence == Confidence::low)
    return Settled::first_level;
  const bool unknown_tlb =
      found.tlbs.size() < 2 ||
      std::ranges::any_of(found.tlbs, [](const TlbFinding& tlb) { return !tlb.entries.value; });
  return unknown_tlb ? Settled::two_levels : Settled::all;
}

Caches infer_caches(Sampler& sampler, const StageCallback& stage) {
  CachedSampler cached(sampler);
  const Abilities& abilities = sampler.abilities();
  const bool by_counts = abilities.exact && abilities.counted > 0,
             by_exact_time = abilities.exact && abilities.times;
  Caches found;
  found.witness = abilities.witness;
  found.method = by_counts ? method_by_counts : by_exact_time ? method_by_exact_time : method_by_time;
  if (abilities.counted > 0) found.method.push_back(meaning_of_counts(abilities));
  found.memory = unknown_property("latency", "ns", "the witness counts misses and measures no time");
  for (std::size_t level = 0; level < abilities.counted; ++level)
    found.counted_by.push_back(
        fmt::format("{} misses: {}", level_name(level), abilities.counted_by(level).text()));
  for (std::size_t level = 0; level < abilities.counted_tlbs; ++level)
    found.counted_by.push_back(
        fmt::format("L{} DTLB misses: {}", level + 1, abilities.tlb_counted_by(level).text()));
  const StageCallback reported = stage ? stage : [](const std::string&) {};
  if (by_counts)
    infer_by_counts(found, cached, reported);
  else if (by_exact_time)
    infer_by_exact_time(found, cached, reported);
  else
    TimeInference(found, cached, reported).run();
  found.readings = cached.taken().size();
  for (const auto& [pattern, reading] : cached.taken()) {
    found.rounds += reading.rounds;
    found.disturbed += reading.disturbed;
  }
  return found;
}

} // namespace recount::caches
