// Method, witnesses, and what was not counted.
#include "base/format.hpp"
#include "report/build_report.hpp"
#include "statistics/difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace recount::report {
namespace {

struct WitnessRow {
  const char *name, *prose;
};
constexpr std::array witness_rows{
    WitnessRow{"clock",
               "clock: times, by the monotonic clock of Linux, and cycles of the time-stamp counter, which "
               "has a constant rate independent of the core clock."},
    WitnessRow{"perf", "perf: counts by Linux perf_event, in the measured process."},
    WitnessRow{"papi", "papi: counts by PAPI event sets, in the measured process."},
    WitnessRow{
        "model",
        "model: a simulation of the stated caches and TLBs running the same source code. It is a "
        "prediction: LRU, no prefetcher, no out-of-order execution. It gives the values marked as modelled, "
        "and no times."},
    WitnessRow{"published", "published: values measured and published by others, unchanged."},
};

std::set<std::string> witnesses_of(const result::Results& results) {
  std::set<std::string> names;
  for (const auto& o : results.observations)
    if (o.value.index() != 0) names.insert(o.witness.substr(0, o.witness.find(':')));
  return names;
}

bool any_runs(const result::Results& results, bool records) {
  return std::ranges::any_of(results.runs, [&](const result::Run& run) {
    return !run.versions.contains("published") && result::is_inference(run) == records;
  });
}

std::string statistic_prose(statistics::Statistic statistic) {
  std::string text =
      fmt::format("Tables, figures and text give the {} of the repetitions", statistics::name_of(statistic));
  if (statistic == statistics::Statistic::median)
    text += fmt::format(" with its 95 % bootstrap interval (the range of fewer than {} values)",
                        statistics::least_for_interval);
  return text +
         fmt::format(". A difference is stated only if the 95 % intervals of the medians are disjoint and "
                     "Welch's t test rejects equality at the level {}, or if the model gives both "
                     "values.",
                     statistics::comparison_level);
}

} // namespace

std::vector<std::string> not_counted(const result::Results& results) {
  std::vector<std::string> all;
  std::set<std::pair<std::string, std::string>> left_out;
  for (const auto& run : results.runs)
    for (const auto& [what, why] : run.skipped)
      left_out.emplace(what, why);
  for (const auto& [what, why] : left_out)
    all.push_back(fmt::format("{}: {}", what, why));
  // Requested and never counted: each reason once, with all its metrics.
  std::set<std::pair<std::string, std::string>> counted;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> missing; // witness and reason
  for (const auto& o : results.observations)
    if (o.value.index() != 0) counted.emplace(o.witness, o.metric);
  for (const auto& o : results.observations)
    if (o.value.index() == 0 && !counted.contains({o.witness, o.metric}))
      missing[{o.witness, o.reason}].insert(o.metric);
  for (const auto& [who, metrics] : missing)
    all.push_back(fmt::format("{} by {}: {}", fmt::join(metrics, ", "), who.first,
                              who.second.empty() ? "no reason given" : who.second));
  return all;
}

std::vector<document::Block> method_section(const result::Results& results,
                                            const std::vector<document::Section>& sections, bool appendix) {
  std::vector<document::Block> blocks;
  blocks.emplace_back(document::Heading{"Method", 1});
  if (any_runs(results, false))
    blocks.emplace_back(document::Paragraph{
        std::string(
            "Each repetition ran in a new process, in random order, with its memory written before the "
            "measurement. ") +
        (appendix ? "All values are in the appendix. " : "") + statistic_prose(results.statistic)});
  const auto names = witnesses_of(results);
  std::vector<std::string> who;
  for (const WitnessRow& row : witness_rows)
    if (names.contains(row.name)) who.emplace_back(row.prose);
  if (!who.empty()) {
    blocks.emplace_back(document::Paragraph{"Each number names its witness:"});
    blocks.emplace_back(document::List{std::move(who)});
  }
  for (const document::Section& section : sections)
    if (section.method) document::append(blocks, section.method(results));
  if (auto missing = not_counted(results); !missing.empty()) {
    blocks.emplace_back(document::Heading{"Not counted", 2});
    blocks.emplace_back(document::Paragraph{"Tables and figures omit these values; they are not 0."});
    blocks.emplace_back(document::List{std::move(missing)});
  }
  return blocks;
}

std::vector<document::Block> warnings_section(const result::Results& results,
                                              const std::vector<std::string>& of_figures) {
  std::vector<std::string> items = results.warnings;
  items.insert(items.end(), of_figures.begin(), of_figures.end());
  std::map<std::string, std::size_t> flags; // by the word before any number
  std::size_t flagged = 0, multiplexed = 0, most = results.observations.size();
  double least = 1;
  for (const auto& o : results.observations) {
    const auto disturbances = result::disturbances(o);
    for (const auto& what : disturbances)
      ++flags[what.substr(0, what.find(' '))];
    flagged += disturbances.empty() ? 0U : 1U;
    if (!o.enabled_ns || !o.running_ns || *o.enabled_ns <= 0 || *o.running_ns >= *o.enabled_ns) continue;
    ++multiplexed;
    least = std::min(least, static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns));
  }
  if (flagged > 0) {
    std::vector<std::string> kinds;
    for (const auto& [flag, count] : flags)
      kinds.push_back(fmt::format("{} {}", flag, count));
    items.push_back(fmt::format("{} of {} {} from repetitions that lost more than {} % of their "
                                "time ({}); they are included, "
                                "and marked in the list of all values.",
                                flagged, base::format_count(most, "value"), flagged == 1 ? "comes" : "come",
                                result::disturbed_percent, fmt::join(kinds, ", ")));
  }
  if (multiplexed > 0)
    items.push_back(
        fmt::format("{} scaled: the events were multiplexed and counted at least {:.0f} % of the time.",
                    base::format_count(multiplexed, "value is", "values are"), 100 * least));
  for (const auto& failure : results.failures)
    items.push_back(fmt::format("A run failed: {} {}, repetition {}, by {}: {}", failure.kernel,
                                result::describe(failure.params), failure.repetition + 1, failure.witness,
                                failure.reason));
  if (items.empty()) return {};
  std::vector<document::Block> blocks;
  blocks.emplace_back(document::Heading{"Warnings", 1});
  blocks.emplace_back(document::List{std::move(items)});
  return blocks;
}

} // namespace recount::report
