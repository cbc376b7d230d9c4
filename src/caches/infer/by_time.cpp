// Time is taken, pages lie anywhere: the clock, and counters beside it.
#include "base/bytes.hpp"
#include "caches/infer/outer.hpp"
#include "caches/infer/paged.hpp"
#include "caches/infer/properties.hpp"
#include "caches/infer/steps.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace recount::analysis {

namespace {

constexpr double first_rise = 1.15, second_rise = 1.25; ///< over a plateau: a level is left

const std::vector<std::string> method_by_time = {
    "Every access waits for the one before it: pointers lead through the working set in random order, so "
    "neither "
    "overlap nor prefetching hides a miss. Each point is visited once a round, in a new order of points, in "
    "slices "
    "of some 40 microseconds, and the least counts: disturbances only add time.",
    "The clock rate of the core changes with load and heat, and all times with it. Before, between and after "
    "the slices a chain of multiplications, which touches no memory, tells the rate; times of up to 8 MiB, "
    "which the core's own caches and clock decide, are given at the rate of the first one.",
    "L1: the part of an address within a page chooses the set, so lines at chosen strides contend for it. "
    "What the "
    "pages cost is measured with the same pages and lines spread over all sets, and subtracted.",
    "From L1 to L2 this changes: physical addresses choose the set, and pages lie anywhere, so sets fill "
    "unevenly "
    "and the curve rises gradually. The cost of TLB misses, which begin at the same sizes, is subtracted; "
    "and pages "
    "are sorted by trying into colours, those whose lines contend for the same sets."};

class ByTime {
public:
  ByTime(Caches& found, Notebook& notebook, Sampler& sampler, const Stage& stage)
      : found_(found), notebook_(notebook), can_(notebook.abilities()), sampler_(sampler), stage_(stage) {}

  void run() {
    found_.method = method_by_time;
    if (can_.counted > 0) found_.method.push_back(meaning_of_counts(can_));
    try {
      find_first_plateaus();
      first_level();
      stage_("TLB");
      translation_ = find_translation(notebook_, line());
      found_.tlbs = tlb_findings(translation_, false);
      second_level();
      if (outer_.hit > 0) add_outer_levels(found_, outer_);
      say_huge_pages();
    } catch (const Unknown& unknown) {
      if (found_.levels.empty()) found_.levels.push_back(unknown_level("L1d", unknown.reason));
      found_.memory = unknown_property("latency", "ns", unknown.reason);
    }
  }

private:
  [[nodiscard]] std::int64_t line() const {
    return static_cast<std::int64_t>(found_.levels.front().line.value.value_or(64));
  }

  void say_huge_pages() {
    const auto pages = sampler_.huge_pages();
    if (!pages || pages->asked == 0) return;
    const auto mebibytes = [](std::int64_t bytes) { return (bytes + (1 << 19)) >> 20; };
    const std::string how =
        pages->granted == 0 ? "were not granted"
        : 10 * pages->granted < 9 * pages->asked
            ? fmt::format("were granted for {} MiB of {}", mebibytes(pages->granted), mebibytes(pages->asked))
            : "were granted";
    found_.method.push_back(fmt::format(
        "Large pages were asked for from 8 MiB on and {}{}. L2 was looked at in pages of {} KiB, which lie "
        "anywhere: their colours were found by trying, no placement was asked for.",
        how,
        pages->granted == 0 ? ": times of the last level and of memory include TLB misses"
                            : "; a host that backs them with small ones would still show TLB misses",
        can_.page >> 10));
  }

  void find_first_plateaus() {
    stage_("working sets");
    found_.curve = survey(notebook_, can_.most_bytes);
    first_hit_ = floor_of(found_.curve);
    const std::int64_t onset = first_above(found_.curve, first_rise * first_hit_);
    const auto plateau = onset == 0 ? std::nullopt : flattest(found_.curve, 2 * onset, 6 * onset);
    if (!plateau)
      throw Unknown{"the time of an access has no second plateau: too much noise, or no second level"};
    second_hit_ = plateau->ns;
  }

  void first_level() {
    stage_("L1d");
    LevelFinding finding = unknown_level("L1d", {});
    std::unique_ptr<Gauge> gauge;
    if (can_.counted > 0)
      gauge = std::make_unique<CountGauge>(notebook_, 0);
    else
      gauge = std::make_unique<TimeGauge>(notebook_, first_hit_, second_hit_ - first_hit_, 64);
    finding.measure = can_.counted > 0 ? measure_by_counts(0) : "share of accesses that leave L1d, from time";
    finding.geometry = find_geometry(notebook_, *gauge, {});
    fill_from_geometry(finding, {notebook_, *gauge, finding.name, finding.measure, false});
    finding.latency =
        time_property("latency", first_hit_, Confidence::high,
                      {fmt::format("Working sets that fit take {:.2f} ns an access.", first_hit_)});
    finding.penalty = time_property(
        "penalty", second_hit_ - first_hit_, Confidence::high,
        {fmt::format(
            "Average access time = hit time + miss rate x penalty. Where nothing leaves L1d (rate 0) it is "
            "{0:.2f} ns; where everything does (rate 1) and the next level has room for it, {1:.2f} ns = "
            "{0:.2f} "
            "ns + 1 x penalty. The penalty is {2:.2f} ns.",
            first_hit_, second_hit_, second_hit_ - first_hit_)});
    finding.latency.against = "a working set within the capacity that takes longer";
    finding.penalty.against = "no plateau between the capacities of the first level and of the next";
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
    LevelFinding finding =
        unknown_level("L2", onset == 0 ? fmt::format("nothing leaves it up to {}",
                                                     bytes_text(static_cast<double>(net.back().bytes)))
                                       : "no plateau beyond it was seen");
    if (beyond.size() >= 2) {
      outer_ = {median(beyond), 2 * onset, 5 * onset};
      geometry_of_second(finding, onset, std::ranges::max(beyond) < 1.4 * std::ranges::min(beyond));
      finding.penalty =
          time_property("penalty", outer_.hit - second_hit_, Confidence::medium,
                        {fmt::format("Average access time = hit time + miss rate x penalty, TLB misses "
                                     "subtracted: {:.2f} ns at rate 0 "
                                     "and {:.1f} ns at rate 1, from {} to {}. The penalty is {:.1f} ns.",
                                     second_hit_, outer_.hit, bytes_text(static_cast<double>(outer_.from)),
                                     bytes_text(static_cast<double>(outer_.to)), outer_.hit - second_hit_)});
    }
    finding.measure = "share of accesses that leave L2";
    finding.latency = time_property(
        "latency", second_hit_, Confidence::high,
        {fmt::format("Working sets that leave L1d altogether and fit L2 take {:.2f} ns an access.",
                     second_hit_)});
    found_.levels.push_back(std::move(finding));
  }

  void geometry_of_second(LevelFinding& finding, std::int64_t onset, bool next_is_level) {
    const LevelFinding& first = found_.levels.front();
    if (!first.ways.value || !first.capacity.value) {
      finding = unknown_level("L2", "the ways of L1d, which must be overcome first, are not known");
      return;
    }
    PagedTask task;
    task.first_hit = first_hit_;
    task.hit = second_hit_;
    task.next_hit = outer_.hit;
    task.line = line();
    task.capacity_above = static_cast<std::int64_t>(*first.capacity.value);
    task.ways_above = static_cast<std::int64_t>(*first.ways.value);
    task.around = onset;
    task.next_is_level = next_is_level;
    task.translation = &translation_;
    fill_from_pages(finding, notebook_, sampler_, task);
  }

  Caches& found_;
  Notebook& notebook_;
  const Abilities& can_;
  Sampler& sampler_;
  const Stage& stage_;
  Translation translation_;
  double first_hit_ = 0, second_hit_ = 0; ///< ns
  BeyondSecond outer_;
};

} // namespace

void infer_by_time(Caches& found, Notebook& notebook, Sampler& sampler, const Stage& stage) {
  ByTime(found, notebook, sampler, stage).run();
}

} // namespace recount::analysis
