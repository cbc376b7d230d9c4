// The inference: by misses where addresses choose the sets, else by time and counters under random placement.

#include "base/format.hpp"
#include "base/statistics/statistics.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/infer/second_level.hpp"
#include "commands/caches/infer/time_inference.hpp"

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
  if (abilities.witness.modelled())
    return "PAPI_L1_DCM, PAPI_L2_DCM: demand misses of the simulated levels, without prefetches and page "
           "walks.";
  if (!abilities.events.empty())
    return "Misses are counted by events of loads, without prefetches of the hardware. Exact counts are "
           "compared "
           "with one miss per pass, others with a threshold.";
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
    fill_from_geometry(finding, above.gauge(level), finding.measure, true);
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
    found.tlbs = tlb_findings(find_translation(cached, line), abilities.exact);
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
  found.modelled = abilities.witness.modelled();
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
    infer_by_time(found, cached, sampler, reported);
  found.readings = cached.taken().size();
  for (const auto& [pattern, reading] : cached.taken()) {
    found.rounds += reading.rounds;
    found.disturbed += reading.disturbed;
  }
  return found;
}

} // namespace recount::caches
