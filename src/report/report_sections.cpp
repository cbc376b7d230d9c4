#include "base/format.hpp"
#include "base/witness.hpp"
#include "kernel/command_line.hpp"
#include "report/build_report.hpp"
#include "result/observation.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

// The machine and the software of the measurements.
namespace recount::report {
namespace {

std::string cache_text(const result::CacheNote& cache) {
  std::string text = fmt::format("{} {}", cache.level, base::format_bytes(cache.size));
  if (cache.line > 0) text += fmt::format(", line {} B", cache.line);
  if (cache.ways > 0) text += ", " + base::format_count(cache.ways, "way");
  if (cache.ways < 0) text += ", fully associative";
  return text;
}

std::string or_unstated(const std::string& text) {
  return text.empty() ? "not stated" : text;
}

document::Table machine_table(const document::Part& part) {
  const result::Run& run = part.results->runs.front();
  document::Table table{"Machine: " + part.machine, {{"", false}, {"", false}}, {}};
  const auto row = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  row("CPU", or_unstated(run.cpu));
  row("host", or_unstated(run.host));
  row("logical CPUs", std::to_string(run.cpus));
  for (const auto& cache : run.caches)
    row("data cache (stated)", cache_text(cache));
  if (run.caches.empty()) row("data caches", "not stated");
  row("system", or_unstated(run.os));
  row("virtual machine", run.virtualised.empty() ? "none detected" : run.virtualised);
  row("frequency governor", or_unstated(run.governor));
  for (const auto& [name, version] : run.versions) {
    if (result::is_job_field(name)) continue; // of one run, not of the machine
    row(name == "kernel_flags"       ? "compiler flags of the kernels"
        : name == "vectorised_flags" ? "compiler flags of the vectorised kernels"
                                     : name,
        version);
  }
  return table;
}

document::Table runs_table(const document::Part& part) {
  document::Table table{"Runs", {{"started (UTC)", false}, {"study", false}, {"repetitions"}, {"seed"}}, {}};
  for (const auto& run : part.results->runs) {
    const auto planned = [&](const char* name) {
      const auto found = run.plan.find(name);
      return found == run.plan.end() ? std::string() : found->second;
    };
    std::string what = planned("study");
    if (what.empty()) what = planned("kernel");
    if (planned("kernel") == "matmul" && !what.empty()) what = "matrix products: " + what;
    const std::string repeat = planned("repeat");
    table.rows.push_back(
        {run.started, what.empty() ? "-" : what, repeat.empty() ? "-" : repeat, std::to_string(run.seed)});
  }
  return table;
}

} // namespace

std::vector<document::Block> machines_section(const std::vector<document::Part>& parts) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : parts) {
    if (part.published) continue;
    blocks.emplace_back(machine_table(part));
    blocks.emplace_back(runs_table(part));
    std::vector<std::string> commands;
    for (const auto& run : part.results->runs) {
      const std::string text = kernel::quoted(run.command);
      if (text.empty() || std::ranges::find(commands, text) != commands.end()) continue;
      if (commands.empty()) blocks.emplace_back(document::Paragraph{"Commands:"});
      commands.push_back(text);
      blocks.emplace_back(document::Code{text});
    }
  }
  return document::under(parts.size() > 1 ? "Machines" : "Machine", std::move(blocks));
}

// Method, witnesses, and what was not counted.
namespace {

struct WitnessRow {
  Witness::Kind kind;
  const char* prose;
};
constexpr std::array witness_rows{
    WitnessRow{Witness::clock,
               "clock: times, by the monotonic clock of Linux, and cycles of the time-stamp counter, which "
               "has a constant rate independent of the core clock."},
    WitnessRow{Witness::perf, "perf: counts by Linux perf_event, in the measured process."},
    WitnessRow{Witness::papi, "papi: counts by PAPI event sets, in the measured process."},
    WitnessRow{
        Witness::model,
        "model: a simulation of the stated caches and TLBs running the same source code. It is a "
        "prediction: LRU, no prefetcher, no out-of-order execution. It gives the values marked as modelled, "
        "and no times."},
    WitnessRow{Witness::published, "published: values measured and published by others, unchanged."},
};

std::set<Witness::Kind> kinds_of_witnesses(const result::Results& results) {
  std::set<Witness::Kind> kinds;
  for (const auto& o : results.observations)
    if (o.value.index() != 0) kinds.insert(o.witness.kind);
  return kinds;
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
  std::set<std::pair<Witness, std::string>> counted;
  std::map<std::pair<Witness, std::string>, std::set<std::string>> missing; // witness and reason
  for (const auto& o : results.observations)
    if (o.value.index() != 0) counted.emplace(o.witness, o.metric);
  for (const auto& o : results.observations)
    if (o.value.index() == 0 && !counted.contains({o.witness, o.metric}))
      missing[{o.witness, o.reason.get().text()}].insert(o.metric);
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
  const auto kinds = kinds_of_witnesses(results);
  std::vector<std::string> who;
  for (const WitnessRow& row : witness_rows)
    if (kinds.contains(row.kind)) who.emplace_back(row.prose);
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
  std::map<Flag::Kind, std::size_t> flags;
  std::size_t flagged = 0, multiplexed = 0, most = results.observations.size();
  double least = 1;
  for (const auto& o : results.observations) {
    const auto disturbances = result::disturbances(o);
    for (const Flag& flag : disturbances)
      ++flags[flag.kind];
    flagged += disturbances.empty() ? 0U : 1U;
    if (!o.enabled_ns || !o.running_ns || *o.enabled_ns <= 0 || *o.running_ns >= *o.enabled_ns) continue;
    ++multiplexed;
    least = std::min(least, static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns));
  }
  if (flagged > 0) {
    std::vector<std::string> kinds;
    for (const auto& [flag, count] : flags)
      kinds.push_back(fmt::format("{} {}", name_of(flag), count));
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

// Presets and events of the results that did not agree in recount check on the machine that counted them.
namespace {

using Marks = std::map<std::string, std::string>;

Marks marks_of(const document::Part& part) {
  Marks all;
  for (const auto& run : part.results->runs)
    all.insert(run.verdicts.begin(), run.verdicts.end());
  return all;
}

/// The marks that hold on every machine: a table may show several.
Marks common_marks(const std::vector<document::Part>& parts) {
  Marks common;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Marks here = marks_of(parts[i]);
    if (i == 0) common = here;
    std::erase_if(common, [&](const auto& mark) {
      const auto found = here.find(mark.first);
      return found == here.end() || found->second != mark.second;
    });
  }
  return common;
}

/// What a program was counted to by one witness; without values: not counted. Counts of kernels are in the
/// tables of their studies.
struct Counted {
  bool program = false;
  std::vector<double> values;
};
using Counts = std::map<std::tuple<std::string, std::string, Witness>, Counted>; // metric, place, witness

Counts marked_counts(const document::Part& part, const Marks& marks) {
  Counts all;
  for (const auto& o : part.results->observations) {
    if (!marks.contains(o.metric) || o.witness.modelled() || o.params.contains("interval")) continue;
    const auto command = o.params.find("command");
    const bool program = o.kernel == "command" && command != o.params.end();
    const auto* const name = program ? std::get_if<std::string>(&command->second) : nullptr;
    auto& counted = all[{o.metric, name ? *name : "kernel " + o.kernel, o.witness}];
    counted.program = name != nullptr;
    if (const auto value = result::as_double(o.value); value && name) counted.values.push_back(*value);
  }
  return all;
}

std::string shown(const Counted& counted) {
  if (!counted.program) return "-";
  return counted.values.empty() ? "not counted" : fmt::format("{:.0f}", statistics::median(counted.values));
}

} // namespace

std::vector<document::Block> verdicts_section(const std::vector<document::Part>& parts) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : parts) {
    const Marks marks = marks_of(part);
    document::Table table{"Counts to be read with these verdicts of recount check: " + part.machine,
                          {{"preset or event", false},
                           {"counted in", false},
                           {"witness", false},
                           {"median"},
                           {"verdict", false}},
                          {}};
    for (const auto& [place, counted] : marked_counts(part, marks)) {
      const auto& [metric, where, witness] = place;
      table.rows.push_back({metric, where, witness.name(), shown(counted), marks.at(metric)});
    }
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  }
  return document::under("Verdicts", std::move(blocks));
}

void mark_tables(std::vector<document::Block>& blocks, const std::vector<document::Part>& parts) {
  const Marks marks = common_marks(parts);
  const auto mark = [&](std::string& cell) {
    if (const auto found = marks.find(cell); found != marks.end()) cell += " (" + found->second + ")";
  };
  for (auto& block : blocks)
    if (auto* const table = std::get_if<document::Table>(&block)) {
      for (auto& column : table->columns)
        mark(column.head);
      for (auto& row : table->rows)
        for (auto& cell : row)
          mark(cell);
    }
}

} // namespace recount::report
