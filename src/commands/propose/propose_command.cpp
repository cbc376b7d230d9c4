#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "commands/propose/measured_rows.hpp"
#include "commands/propose/propose.hpp"
#include "count/event/event_file.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/written.hpp"
#include "show/command/batch.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

// recount propose: rows of a preset table for a CPU that has none.
namespace recount::propose {
namespace {

struct ProposeArguments {
  std::string pmu, table, papi, export_to;
  std::vector<std::string> from;
  bool leave_one_out = false, verbose = false, json = false;
  bool measure = false;
  std::string from_results;
  MeasureOptions measuring;
};

std::string requested_cpu(const ProposeArguments& requested, const preset::Catalogue* catalogue) {
  if (requested.pmu.empty()) {
    if (const auto* const here = preset::default_pmu()) return here->name;
    throw unavailable("this CPU", "libpfm4 does not know it", {}, "recount propose --pmu NAME");
  }
  if (lint::never_loaded(requested.pmu))
    throw bad_input("--pmu " + requested.pmu,
                    "PAPI never loads its rows: it leaves efficiency cores out of its default PMU",
                    "name the PMU of the other cores");
  if (const auto source = lint::find_source(requested.pmu, catalogue); source.core) return source.core->name;
  throw bad_input(
      "--pmu " + requested.pmu, "no core PMU of this name has known events",
      base::did_you_mean(requested.pmu, lint::known_pmus(catalogue), "name a newer libpfm4 with --libpfm"));
}

constexpr std::pair<const char*, int Lineage::Comparison::*> counters[] = {
    {"rows", &Lineage::Comparison::rows},           {"equal", &Lineage::Comparison::equal},
    {"different", &Lineage::Comparison::different}, {"without remark", &Lineage::Comparison::unremarked},
    {"missing", &Lineage::Comparison::missing},     {"extra", &Lineage::Comparison::extra}};

show::Table comparison_table(const std::vector<Lineage::Comparison>& all, const std::string& first,
                             const std::string& title) {
  std::vector<show::Column> columns{{first}};
  for (const auto& [head, counter] : counters)
    columns.push_back({head, show::Role::number});
  show::Table table(std::move(columns), title);
  for (const auto& one : all) {
    std::vector<std::string> row{one.cpu};
    for (const auto& [head, counter] : counters)
      row.push_back(std::to_string(one.*counter));
    table.add(std::move(row));
  }
  return table;
}

/// One row for each vendor, and one for all, of the CPUs that have a relative.
std::vector<Lineage::Comparison> totals(const std::vector<Lineage::Comparison>& all) {
  std::vector<Lineage::Comparison> sums;
  for (const std::string total = "total"; const auto& one : all)
    for (const std::string& name : {one.vendor, total}) {
      auto at = std::ranges::find(sums, name, &Lineage::Comparison::cpu);
      if (at == sums.end()) {
        // "total" stays the last
        at = sums.insert(name == total || sums.empty() ? sums.end() : sums.end() - 1, Lineage::Comparison{});
        at->cpu = name;
      }
      for (const auto& [head, counter] : counters)
        (*at).*counter += one.*counter;
    }
  return sums;
}

std::string share(int part, int all) {
  return all == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / all);
}

int evaluate(Lineage& lineage, const ProposeArguments& requested) {
  std::vector<Lineage::Comparison> all;
  std::vector<std::string> alone;
  for (const std::string& cpu : lineage.cpus()) {
    if (!requested.pmu.empty() && !preset::same_word(cpu, requested.pmu)) continue;
    auto one = lineage.leave_out(cpu);
    if (one.nearest.empty())
      alone.push_back(one.cpu);
    else
      all.push_back(std::move(one));
  }
  if (all.empty())
    throw bad_input(requested.pmu.empty() ? "--leave-one-out" : "--pmu " + requested.pmu,
                    "no CPU of the table has a relative with rows of its own",
                    "recount propose --leave-one-out");
  const auto sums = totals(all);
  const auto& total = sums.back();
  const auto by_cpu = comparison_table(all, "CPU", "CPUs");
  const auto by_vendor = comparison_table(sums, "vendor", "Vendors");
  command::print("{} of {} of CPUs that have a relative are proposed equal ({}), {} different ({}; "
                 "without a remark {}), {} missing ({}); {} extra\n\n{}\n{}",
                 total.equal, base::format_count(total.rows, "row"), share(total.equal, total.rows),
                 total.different, share(total.different, total.rows), share(total.unremarked, total.rows),
                 total.missing, share(total.missing, total.rows), total.extra, command::table_text(by_vendor),
                 command::table_text(by_cpu));
  if (!alone.empty())
    command::print("\n{}\n",
                   command::wrap(fmt::format("No relative with rows of its own: {}", fmt::join(alone, " ")),
                                 command::line_width(), 2));
  for (const auto& one : all)
    for (const std::string& detail : one.details)
      if (requested.verbose) command::print("{}: {}\n", one.cpu, detail);
  command::TableExport(requested.export_to).write("recount propose", {by_vendor, by_cpu});
  return 0;
}

show::Table rows_table(const Proposals& all) {
  show::Table table({{"preset"}, {"formula"}, {"from"}, {"confidence"}, {"remarks"}}, "Proposals");
  for (const Proposal& one : all.rows)
    table.add({one.preset, one.formulas.front().text,
               fmt::format("{}", fmt::join(one.formulas.front().from, " ")),
               std::string(name_of(one.confidence)), fmt::format("{}", fmt::join(one.remarks, "; "))});
  return table;
}

show::Table measured_table(const MeasuredProposals& all) {
  show::Table table(
      {{"preset"}, {"formula"}, {"from"}, {"points"}, {"not 0"}, {"formulas"}, {"recount check"}},
      "Proposals");
  for (const MeasuredPreset& one : all.rows)
    table.add({one.preset, formula_text(one.fits.found.front()), fmt::format("{}", fmt::join(one.from, " ")),
               std::to_string(one.fits.points), std::to_string(one.fits.positive),
               std::to_string(one.fits.found.size()), one.verdict});
  return table;
}

void check_arguments(const ProposeArguments& requested) {
  check_options(requested.measuring);
  if (requested.measure + requested.leave_one_out + !requested.from_results.empty() > 1)
    throw bad_input("--measure, --from-results, --leave-one-out", "cannot be combined", "choose one");
  if (requested.json && (requested.measure || requested.leave_one_out || !requested.from_results.empty()))
    throw bad_input("--json", "is for proposals from relatives", "recount propose --pmu NAME --json");
  if (!requested.measure && !requested.measuring.output.empty())
    throw bad_input("--output " + requested.measuring.output, "is for the counts of --measure",
                    "recount propose --measure -o " + requested.measuring.output);
  if (requested.measure && !requested.pmu.empty())
    throw bad_input("--pmu " + requested.pmu, "--measure counts the events of this CPU", "leave out --pmu");
  command::check_outputs({.results = requested.measuring.output, .resume = requested.measuring.resume});
}

/// The PMU whose events the results have.
std::string measured_cpu(const result::Results& results, const std::string& file) {
  for (const result::Run& run : results.runs)
    if (const auto at = run.plan.find(measured_setting); at != run.plan.end()) return at->second;
  throw bad_input(file, "holds no counts of recount propose", "recount propose --measure -o FILE");
}

int propose_by_counts(Lineage& lineage, const ProposeArguments& requested, const preset::Catalogue* named,
                      const command::TableExport& file) {
  const bool here = requested.measure;
  result::Results results;
  if (!here) results = result::read(requested.from_results);
  const std::string cpu =
      here ? requested_cpu(requested, named) : measured_cpu(results, requested.from_results);
  const Proposals relatives = lineage.propose(cpu, base::list_words(requested.from));
  if (here) {
    MeasureOptions options = requested.measuring;
    options.events = base::list_words(options.events);
    auto measured = measure(options, relatives);
    if (measured.outcome.stopped) return 128 + process::stop_signal;
    results = std::move(measured.results);
  }
  MeasuredProposals all = propose_measured(results, statements(results), relatives);
  std::string why = "recount check was not run: the counts are from a file";
  if (here && !all.rows.empty()) why = check_rows(all);
  file.write("recount propose", {measured_table(all)});
  if (requested.measuring.output != "-") command::print("{}", format_csv(all, why));
  return all.rows.empty() ? 1 : 0;
}

int execute_propose(const ProposeArguments& requested) {
  check_arguments(requested);
  const command::TableExport file(requested.export_to);
  const auto described = preset::Catalogue::read(event::chosen_event_files());
  const PresetTable table =
      PresetTable::read(requested.table.empty() ? preset::papi_table() : requested.table);
  Lineage lineage(table, &described, preset::parse_papi_version(requested.papi));
  if (requested.leave_one_out) return evaluate(lineage, requested);
  if (requested.measure || !requested.from_results.empty())
    return propose_by_counts(lineage, requested, &described, file);
  const Proposals all =
      lineage.propose(requested_cpu(requested, &described), base::list_words(requested.from));
  file.write("recount propose", {rows_table(all)});
  command::print("{}", requested.json ? format_json(all, table.name()) : format_csv(all, table.name()));
  return all.rows.empty() ? 1 : 0;
}

} // namespace

command::Command propose_command() {
  return command::make_command<ProposeArguments>(
      "propose", "propose preset rows for a CPU that has none",
      [](command::Options& options, ProposeArguments& requested) {
        options
            .text("--pmu", requested.pmu, "NAME",
                  "propose rows for this PMU, by libpfm4's name (default: this CPU's)")
            .list("--from", requested.from, "PMU,...",
                  "use only the rows of these PMUs (default: the related ones)")
            .text("--table", requested.table, "FILE", "use this preset table (default: PAPI's)")
            .libpfm()
            .event_files()
            .flag("--leave-one-out", requested.leave_one_out,
                  "propose the rows of each CPU of the table from those of the others, and compare")
            .flag(
                "--measure", requested.measure,
                "count all events of this CPU over the kernels of recount check, and propose from the counts")
            .text("--from-results", requested.from_results, "FILE",
                  "propose from the counts of --measure in FILE")
            .text("-o,--output", requested.measuring.output, "FILE",
                  "with --measure: append the counts to FILE; - is stdout")
            .list("-e,--event", requested.measuring.events, "LIST",
                  "with --measure: count only these events; repeatable")
            .number("-r,--repeat", requested.measuring.repeat, "N",
                    "with --measure: processes per point (default 3)", {1, 1000})
            .flag("-v,--verbose", requested.verbose, "with --leave-one-out: print each row that differs")
            .text("--papi-version", requested.papi, "VERSION",
                  "propose rows for this PAPI: 7.0 or 7.3 (default: the one that reads the table)")
            .flag("--json", requested.json, "print the proposals as one JSON object")
            .text("--export", requested.export_to, "FILE", command::export_help);
        command::declare_runs(options, requested.measuring, 60);
      },
      execute_propose);
}

} // namespace recount::propose
