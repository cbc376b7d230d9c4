#include "base/format.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "base/witness.hpp"
#include "commands/report/build_report.hpp"
#include "kernel/command_line.hpp"
#include "run/result/curves.hpp"
#include "run/result/observation.hpp"
#include "show/document/groups.hpp"
#include "show/plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
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

/// `full`: with the versions of what measured.
std::string machine_text(const document::Part& part, bool full) {
  const result::Run& run = part.results->runs.front();
  std::vector<std::string> texts{fmt::format("logical CPUs: {}", run.cpus)};
  if (!run.os.empty()) texts.push_back(run.os);
  texts.push_back("virtual machine: " + (run.virtualised.empty() ? "none detected" : run.virtualised));
  for (const auto& cache : run.caches)
    texts.push_back("stated " + cache_text(cache));
  if (run.caches.empty()) texts.emplace_back("data caches not stated");
  if (full && !run.governor.empty()) texts.push_back("frequency governor " + run.governor);
  for (const auto& [name, version] : run.versions)
    if (!result::is_job_field(name) &&
        (full || name == "compiler" || name == "kernel_flags")) // of the machine
      texts.push_back(name + " " + version);
  return fmt::format(
      "{}: {}. Values are {}s of the repetitions{}.", part.machine, fmt::join(texts, "; "),
      statistics::name_of(part.results->statistic),
      full ? "" : "; recount report --full adds intervals, the method and the argument of each value");
}

} // namespace

std::vector<document::Block> machines_section(const std::vector<document::Part>& parts, bool full) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : parts) {
    if (part.published) continue;
    blocks.emplace_back(document::Paragraph{machine_text(part, full)});
    if (!full) continue;
    std::set<std::string> commands;
    for (const auto& run : part.results->runs) {
      const std::string text = kernel::quoted(run.command);
      if (text.empty() || !commands.insert(text).second) continue;
      if (commands.size() == 1) blocks.emplace_back(document::Paragraph{"Commands:"});
      blocks.emplace_back(document::Code{text});
    }
  }
  return document::under(parts.size() > 1 ? "Machines" : "Machine", std::move(blocks));
}

// Method, witnesses, and what was not counted.
namespace {

std::vector<std::string> not_counted(const result::Results& results, bool modelled) {
  std::set<std::string> skipped;
  for (const auto& run : results.runs)
    for (const auto& [part, why] : run.skipped)
      skipped.insert(part + ": " + why);
  std::vector<std::string> all(skipped.begin(), skipped.end());
  // Requested and never counted, or not at some points: each reason once, with all its metrics.
  const auto before = [](const result::Params* a, const result::Params* b) { return a != b && *a < *b; };
  struct Points {
    std::set<const result::Params*, decltype(before)> counted, missing;
    std::string reason; ///< the first
    bool others = false;
  };
  std::map<std::pair<Witness, std::string>, Points> points; // by witness and metric
  for (const auto& o : results.observations) {
    if (result::is_reading(o) || (o.witness.modelled() && !modelled)) continue; // findings have the reasons
    Points& of = points[{o.witness, o.metric}];
    const bool counted = o.value.index() != 0;
    (counted ? of.counted : of.missing).insert(&o.params.get());
    if (counted) continue;
    const std::string reason = o.reason->text();
    of.others = of.others || (!of.reason.empty() && of.reason != reason);
    if (of.reason.empty()) of.reason = reason;
  }
  std::map<std::tuple<Witness, std::string, std::string>, std::vector<std::string>> missing;
  for (auto& [key, of] : points) {
    std::erase_if(of.missing, [&](const auto* point) { return of.counted.contains(point); });
    if (of.missing.empty()) continue;
    const std::string where =
        of.counted.empty() ? std::string()
                           : fmt::format(" at {} of {}", of.missing.size(),
                                         base::format_count(of.counted.size() + of.missing.size(), "point"));
    missing[{key.first,
             of.reason.empty() ? "no reason given" : (of.others ? "at one of them, " : "") + of.reason,
             where}]
        .push_back(key.second);
  }
  for (const auto& [key, metrics] : missing)
    all.push_back(fmt::format("{} by {}{}: {}", fmt::join(metrics, ", "), std::get<0>(key), std::get<2>(key),
                              std::get<1>(key)));
  return all;
}

} // namespace

std::vector<document::Block> not_counted_section(const result::Results& results, bool full) {
  auto missing = not_counted(results, full);
  if (missing.empty()) return {};
  return {document::Heading{"Not counted", full ? 2 : 1},
          document::Paragraph{"Tables and figures omit these values; they are not 0."},
          document::List{std::move(missing)}};
}

std::vector<document::Block> method_section(const result::Results& results,
                                            const std::vector<document::Section>& sections) {
  std::vector<document::Block> blocks;
  for (const document::Section& section : sections)
    if (section.method) document::append(blocks, section.method(results));
  document::append(blocks, not_counted_section(results, true));
  return document::under("Method", std::move(blocks));
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
                                "and marked in the files of all values.",
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
                                failure.reason.text()));
  if (items.empty()) return {};
  std::vector<document::Block> blocks;
  blocks.emplace_back(document::Heading{"Warnings", 1});
  blocks.emplace_back(document::List{std::move(items)});
  return blocks;
}

} // namespace recount::report

namespace recount::report {
namespace {

/// A row for each metric of each command; one that was not counted has its reason.
std::optional<show::Table> metrics_table(const document::Part& part, bool full) {
  show::Table table(
      {{"command"}, {"metric"}, {"witness"}, show::number("runs"), show::number("median"), {"unit"}},
      "Counts of programs");
  if (full) table.columns.insert(std::prev(table.columns.end()), show::number("95 % interval"));
  const auto whole = [](const auto& o) { return o.kernel == "command" && !plot::in_interval(o); };
  const auto groups = sweep::sweep_groups(*document::only(part, whole).results);
  for (const sweep::SweepGroup& group : groups) {
    std::vector<std::string> row{result::word(group.params, "command"), group.metric,
                                 base::format_witness(group.witness), std::to_string(group.values.size())};
    if (group.summary) {
      const auto& s = *group.summary;
      row.push_back(base::format_number(s.value));
      if (full)
        row.push_back(s.low < s.high
                          ? fmt::format("{} to {}", base::format_number(s.low), base::format_number(s.high))
                          : "-");
    } else if (full) {
      row.insert(row.end(), {"not counted", group.reason->text()});
    } else {
      continue; // the section of what was not counted has the reason
    }
    row.push_back(is_seconds(group.metric) ? "s" : group.unit);
    table.add(row);
  }
  if (table.rows.empty()) return {};
  table.data = sweep::sweep_data(groups);
  return table;
}

/// The functions of one metric, the first ones by occurrences. Shares are of all samples: of some the place
/// is unknown.
std::optional<show::Table> functions_table(const document::Part& part, const std::string& metric,
                                           std::size_t max_functions) {
  std::map<std::pair<std::string, std::string>, double> functions; // name and module
  double located = 0, total = 0;
  std::string unit;
  std::set<Witness> witnesses;
  for (const auto& o : part.results->observations) {
    const auto value = result::value(o);
    if (!plot::is_profile(o) || o.metric != metric || !value) continue;
    unit = o.unit;
    if (!o.params.contains("address")) {
      total += *value;
      continue;
    }
    const std::string function = result::word(o.params, "function");
    functions[{function.empty() ? "(unknown)" : function, result::word(o.params, "module")}] += *value;
    located += *value;
    witnesses.insert(o.witness);
  }
  const double all = std::max(located, total);
  if (located <= 0) return {};
  std::vector<std::pair<double, std::pair<std::string, std::string>>> sorted;
  for (const auto& [name, value] : functions)
    sorted.emplace_back(value, name);
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& row) { return row.first; });
  show::Table table(
      {{"function"}, {"object"}, show::number(unit.empty() ? "occurrences" : unit), show::number("share")},
      fmt::format("Functions with most occurrences: {}, {}", metric,
                  base::format_witness(*witnesses.begin())));
  for (const auto& [value, name] : sorted) {
    if (table.rows.size() == max_functions) {
      table.notes.push_back(fmt::format("{} of {} functions.", max_functions, sorted.size()));
      break;
    }
    table.rows.push_back(
        {name.first, name.second, fmt::format("{:.0f}", value), base::format_share(value / all)});
    show::Datum& datum = table.data.emplace_back();
    datum = {{{"function", name.first}, {"object", name.second}}, metric, "sum", value};
    datum.unit = unit;
    datum.witness = witnesses.begin()->name();
  }
  return table;
}

std::vector<document::Block> write_programs(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    for (const char* figure : {"trace", "profile"})
      material.gallery.add(blocks, figure, part);
    if (auto table = metrics_table(part, material.full)) blocks.emplace_back(std::move(*table));
    std::set<std::string> metrics;
    for (const auto& o : part.results->observations)
      if (plot::is_profile(o)) metrics.insert(o.metric);
    for (const std::string& metric : metrics)
      if (auto table = functions_table(part, metric, material.full ? 20 : 10))
        blocks.emplace_back(std::move(*table));
  }
  return document::under("Programs", std::move(blocks));
}

} // namespace

document::Section programs_section() {
  return {"programs", write_programs};
}

} // namespace recount::report
