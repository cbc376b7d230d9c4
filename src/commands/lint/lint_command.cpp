#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands/lint/lint_report.hpp"
#include "count/event/event_file.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/written.hpp"
#include "show/command/command.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <ranges>

// recount lint: checks preset tables for all their CPUs at once, with no hardware.
namespace recount::lint {
namespace {

struct LintArguments {
  std::vector<std::string> tables, rules;
  std::string pmu, papi, identities, export_to, since, baseline, write_baseline, fail_on, user_events;
  bool coverage = false, json = false, annotations = false, sarif = false, all = false, strict = false;
  [[nodiscard]] bool compares() const { return !since.empty() || !baseline.empty(); }
};

/// Findings of these rules, and what follows from them.
void keep_rules(std::vector<Finding>& findings, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  const auto roots = root_causes(findings);
  const auto keeps = [&](const Finding* f) { return f && std::ranges::count(wanted, f->rule->id) > 0; };
  std::vector<Finding> kept;
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (keeps(&findings[i]) || keeps(roots[i])) kept.push_back(findings[i]);
  findings = std::move(kept);
}

show::Table findings_table(const std::vector<std::pair<std::string, LintResult>>& results) {
  show::Table table(
      {{"severity"}, {"rule"}, {"file"}, {"line", show::Role::number}, {"CPUs"}, {"presets"}, {"message"}},
      "Findings");
  for (const auto& [path, result] : results)
    for (const Finding& f : result.findings)
      table.add({std::string(name_of(f.severity)), std::string(f.rule->id), path,
                 std::to_string(f.places.front().line), fmt::format("{}", fmt::join(f.cpus, " ")),
                 fmt::format("{}", fmt::join(f.presets, " ")), f.message});
  return table;
}

/// CPU by preset: "row", or the relative whose row resolves there.
show::Table coverage_table(const std::string& path, const Coverage& coverage) {
  std::set<std::string> presets;
  for (const CpuCoverage& one : coverage.cpus)
    presets.insert(one.presets.begin(), one.presets.end());
  std::vector<show::Column> columns{{"CPU"}};
  for (const std::string& preset : presets)
    columns.push_back({preset});
  show::Table table(std::move(columns), "Coverage of " + path);
  for (const CpuCoverage& one : coverage.cpus) {
    std::vector<std::string> row{one.cpu};
    for (const std::string& preset : presets)
      row.push_back(one.presets.contains(preset) ? "row" : base::value_at(one.could_have, preset));
    table.add(std::move(row));
  }
  return table;
}

/// Whether a finding of this severity makes the exit status 1.
bool fails(Severity severity, const std::string& fail_on) {
  if (fail_on == "none") return false;
  return severity <= (fail_on == "note"      ? Severity::note
                      : fail_on == "warning" ? Severity::warning
                                             : Severity::error);
}

void check_arguments(const LintArguments& requested) {
  if (requested.json + requested.annotations + requested.sarif > 1)
    throw bad_input("--json, --annotations, --sarif", "cannot be combined", "choose one");
  if (requested.coverage &&
      (requested.json + requested.annotations + requested.sarif > 0 || requested.compares()))
    throw bad_input("--coverage",
                    "prints no findings, so --json, --annotations, --sarif, --since and --baseline "
                    "do not apply",
                    "leave them out");
  constexpr std::string_view levels[] = {"", "error", "warning", "note", "none"};
  if (std::ranges::find(levels, requested.fail_on) == std::end(levels))
    throw bad_input("--fail-on " + requested.fail_on, "unknown severity",
                    "--fail-on error, warning, note or none");
  if (!requested.since.empty() && requested.tables.size() != 1)
    throw bad_input("--since " + requested.since,
                    fmt::format("needs exactly one TABLE (given = {})", requested.tables.size()),
                    fmt::format("recount lint --since {} papi_events.csv", requested.since));
  for (const std::string& id : requested.rules)
    if (!rule_named(id))
      throw bad_input(
          "--rule " + id, "no such rule",
          base::did_you_mean(id, rules() | std::views::transform(&Rule::id), "see recount-lint(1)"));
}

PresetTable read_table(const std::string& path) {
  auto table = path == "-" ? PresetTable::of(base::require_file("/dev/stdin", "pipe a table to it"), "stdin")
                           : PresetTable::read(path);
  preset::require_rows(table);
  return table;
}

using LintResults = std::vector<std::pair<std::string, LintResult>>;

/// The tables, and the table of user events, which PAPI reads after the first.
LintResults lint_files(const LintArguments& requested, const LintOptions& options) {
  LintResults results;
  auto tables = requested.tables;
  if (tables.empty()) tables = preset::installed_tables();
  std::optional<PresetTable> first; // standard input can be read once
  for (const std::string& path : tables) {
    const PresetTable table = read_table(path);
    results.emplace_back(path, lint(table, options));
    if (!first) first = table;
  }
  std::string user = requested.user_events;
  if (user.empty() && requested.tables.empty()) user = preset::papi_user_events();
  if (!user.empty()) results.emplace_back(user, lint_user_events(first.value(), read_table(user), options));
  for (auto& [path, result] : results)
    keep_rules(result.findings, requested.rules);
  return results;
}

void write_baseline(const std::string& path, const LintResults& results) {
  std::vector<const LintResult*> all;
  for (const auto& [table, result] : results)
    all.push_back(&result);
  if (!base::write_file(path, Baseline::text(all))) throw base::cannot_write(path, errno);
}

void print_text(const LintResults& results, const LintArguments& requested) {
  ReportOptions report;
  report.columns = static_cast<int>(command::line_width());
  report.notes = requested.all || !requested.rules.empty() || requested.compares();
  if (report.notes) report.most = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& [path, result] = results[i];
    if (requested.annotations)
      command::print("{}", as_annotations(path, result));
    else
      command::print("{}{}", i == 0 ? "" : "\n", as_text(path, result, report));
  }
}

int execute_lint(const LintArguments& requested) {
  check_arguments(requested);
  LintOptions options{preset::parse_papi_version(requested.papi), requested.pmu, nullptr};
  options.strict = requested.strict;
  const auto described = preset::Catalogue::read(event::chosen_event_files());
  options.catalogue = &described;
  std::vector<preset::Identity> identities;
  if (const std::string& path = requested.identities; !path.empty()) {
    identities = preset::parse_identities(
        base::require_file(path, "name a table of identities, see recount-identities(7)"), path);
    options.identities = &identities;
  }
  const command::TableExport file(requested.export_to);
  if (!requested.write_baseline.empty())
    base::check_writable("--write-baseline", requested.write_baseline, base::Output::replaced);
  LintResults results = lint_files(requested, options);
  if (requested.coverage) {
    std::vector<show::Table> tables;
    for (const auto& [path, result] : results) {
      const Coverage covered = coverage(result);
      tables.push_back(coverage_table(path, covered));
      command::print("{}", as_text(path, covered, static_cast<int>(command::line_width()), requested.all));
    }
    file.write("recount lint", tables);
    return 0;
  }
  std::optional<Comparison> since;
  if (!requested.since.empty()) {
    LintOptions every = options;
    every.cpu_may_lack = true;
    every.version = results.front().second.version.version;
    LintResult before = lint(read_table(requested.since), every);
    keep_rules(before.findings, requested.rules);
    since = compare(requested.since, before, results.front().second);
  }
  std::string baseline_text;
  if (!requested.baseline.empty()) {
    Baseline baseline = Baseline::read(requested.baseline);
    std::size_t known = 0;
    for (auto& [table, result] : results)
      known += baseline.remove_known(result.findings);
    baseline_text = fmt::format("baseline {}: {} known and not shown, {} listed but not found\n",
                                requested.baseline, known, baseline.stale());
  }
  if (!requested.write_baseline.empty()) write_baseline(requested.write_baseline, results);
  file.write("recount lint", {findings_table(results)});
  if (requested.json)
    command::print("{}", as_json(results, since ? &*since : nullptr));
  else if (requested.sarif)
    command::print("{}", as_sarif(results, requested.compares()));
  else
    print_text(results, requested);
  if (!requested.json && !requested.sarif && !requested.annotations) {
    if (since) command::print("\n{}", as_text(*since, static_cast<int>(command::line_width())));
    command::print("{}", baseline_text);
  }
  const bool wrong = std::ranges::any_of(results, [&](const auto& one) {
    return std::ranges::any_of(one.second.findings,
                               [&](const Finding& f) { return fails(f.severity, requested.fail_on); });
  });
  return wrong && requested.write_baseline.empty() ? 1 : 0;
}

} // namespace

command::Command lint_command() {
  return command::make_command<LintArguments>(
      "lint", "check preset tables for all CPUs, without hardware",
      [](command::Options& options, LintArguments& requested) {
        options
            .words("TABLE", requested.tables,
                   "check these tables; - is stdin (default: those installed with PAPI)")
            .text("--pmu", requested.pmu, "NAME", "check only this PMU or CPU type, by its name in the table")
            .text("--papi-version", requested.papi, "VERSION",
                  "read the tables as this PAPI does: 7.0 or 7.3 (default: the oldest that knows the "
                  "constructs of "
                  "the table)")
            .list("--rule", requested.rules, "RULE", "report only this rule, with all findings; repeatable")
            .text("--identities", requested.identities, "FILE",
                  "use this table of identities (default: built in)")
            .flag("-a,--all", requested.all, "print all findings, including notes")
            .flag(
                "--coverage", requested.coverage,
                "print which core PMUs have no rows, and which presets a CPU lacks although a relative's row "
                "resolves there")
            .libpfm()
            .event_files()
            .text("--user-events", requested.user_events, "FILE",
                  "check this table of user events too, read after TABLE (default without TABLE: "
                  "PAPI_USER_EVENTS_FILE)")
            .flag("--strict", requested.strict, "CPUs whose event names cannot be checked are errors")
            .text("--since", requested.since, "OLD",
                  "report only findings that the table OLD does not have, and what changed")
            .text("--baseline", requested.baseline, "FILE", "report only findings that FILE does not list")
            .text("--write-baseline", requested.write_baseline, "FILE",
                  "write the fingerprints of all findings to FILE; the exit status is 0")
            .text("--fail-on", requested.fail_on, "SEVERITY",
                  "exit with 1 for findings of this severity or worse: error (default), warning, note, "
                  "none")
            .flag("--annotations", requested.annotations, "print file:line: severity: message, for CI")
            .flag("--sarif", requested.sarif, "print a SARIF 2.1.0 log, for code-scanning services")
            .flag("--json", requested.json, "print one JSON object")
            .text("--export", requested.export_to, "FILE", command::export_help);
      },
      execute_lint);
}

} // namespace recount::lint
