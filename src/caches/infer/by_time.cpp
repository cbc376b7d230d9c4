// Inference by time under random page placement, by the clock and by counters.
#include "base/format.hpp"
#include "caches/infer/colours.hpp"
#include "caches/infer/properties.hpp"
#include "caches/infer/record.hpp"
#include "caches/infer/timed_geometry.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace recount::caches {

namespace {

constexpr std::int64_t dead_check_bytes = std::int64_t{4} << 20;
constexpr double least_counted = 0.05;                  ///< misses per access
constexpr double usual_ways = 12;                       ///< of a first level, where they are unknown
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
      report_huge_pages();
    } catch (const Unknown& unknown) {
      if (found_.levels.empty()) found_.levels.push_back(unknown_level("L1d", unknown.reason));
      found_.memory = unknown_property("latency", "ns", unknown.reason);
    }
  }

private:
  [[nodiscard]] std::int64_t line() const {
    return static_cast<std::int64_t>(found_.levels.front().line.value.value_or(64));
  }

  void report_huge_pages() {
    const auto pages = sampler_.huge_pages();
    if (!pages || pages->asked == 0) return;
    const auto mebibytes = [](std::int64_t bytes) { return (bytes + (1 << 19)) >> 20; };
    const std::string how =
        pages->granted == 0 ? "were not granted"
        : 10 * pages->granted < 9 * pages->asked
            ? fmt::format("were granted for {} MiB of {}", mebibytes(pages->granted), mebibytes(pages->asked))
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
        "penalty", second_hit_ - first_hit_, Confidence::high,
        {fmt::format(
            "Average access time = hit time + miss rate x penalty: {0:.2f} ns at miss rate 0, {1:.2f} ns at "
            "miss rate 1 in L1d and 0 in the next level. Penalty: {2:.2f} ns.",
            first_hit_, second_hit_, second_hit_ - first_hit_)});
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
    const std::int64_t onset = first_above(net, second_rise * second_hit_);
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
    }
    finding.measure = "L2 miss rate, from time";
    finding.latency = time_property(
        "latency", second_hit_, Confidence::high,
        {fmt::format("Working sets that always miss in L1d and fit L2 take {:.2f} ns per access.",
                     second_hit_)});
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
  std::int64_t first_onset_ = 0;          ///< bytes: half of the rise from the first to the second
  BeyondSecond outer_;
};

} // namespace

void infer_by_time(Caches& found, CachedSampler& cached, Sampler& sampler, const StageCallback& stage) {
  ByTime(found, cached, sampler, stage).run();
}

} // namespace recount::caches
