// recount lint: checks preset tables for all their CPUs at once, with no hardware.
#include "command/command.hpp"
#include "base/nearest.hpp"
#include "command/print.hpp"
#include "command/table_export.hpp"
#include "lint/report.hpp"
#include "preset/document.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <memory>
#include <ranges>

namespace recount::lint {
namespace {

struct LintArguments {
  std::vector<std::string> tables, rules;
  std::string pmu, papi, identities, export_to;
  bool json = false, annotations = false, all = false;
};

PapiVersion version_of(const std::string& text) {
  if (text.empty() || text == "7.0") return PapiVersion::v7_0;
  if (text == "7.3") return PapiVersion::v7_3;
  throw bad_input("--papi-version " + text, "unknown PAPI version",
                  "--papi-version 7.0 (also 7.1 and 7.2; 8 terms) or 7.3 (12 terms)");
}

/// The tables that PAPI itself would find: its data directory, of whatever version.
std::vector<std::string> installed_tables() {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/papi", ignored))
    if (const auto table = entry.path() / "papi_events.csv"; std::filesystem::exists(table, ignored))
      found.push_back(table.string());
  std::ranges::sort(found);
  if (found.empty())
    throw unavailable("/usr/share/papi/*/papi_events.csv", "no preset table is installed", {},
                      "recount lint FILE, or apt install libpapi-dev");
  return found;
}

std::vector<preset::Identity> read_identities(const std::string& path) {
  return preset::parse_identities(
      preset::read_file(path, "name a table of identities, see recount-identities(7)"), path);
}

void check_rules(const std::vector<std::string>& wanted) {
  for (const std::string& id : wanted)
    if (!rule_named(id))
      throw bad_input(
          "--rule " + id, "no such rule",
          base::did_you_mean(id, rules() | std::views::transform(&Rule::id), "see recount-lint(1)"));
}

void keep_rules(std::vector<Finding>& findings, const std::vector<std::string>& wanted) {
  if (!wanted.empty())
    std::erase_if(findings,
                  [&](const Finding& f) { return std::ranges::find(wanted, f.rule->id) == wanted.end(); });
}

command::Table findings_table(const std::vector<std::pair<std::string, LintResult>>& results) {
  command::Table table({{"severity"},
                        {"rule"},
                        {"file"},
                        {"line", command::Table::Align::right},
                        {"CPUs"},
                        {"presets"},
                        {"message"}},
                       "Findings");
  for (const auto& [path, result] : results)
    for (const Finding& f : result.findings)
      table.add({std::string(name_of(f.rule->severity)), std::string(f.rule->id), path,
                 std::to_string(f.places.front().line), fmt::format("{}", fmt::join(f.cpus, " ")),
                 fmt::format("{}", fmt::join(f.presets, " ")), f.message});
  return table;
}

int execute_lint(const LintArguments& asked) {
  if (asked.json && asked.annotations)
    throw bad_input("--json", "cannot be combined with --annotations", "choose one");
  check_rules(asked.rules);
  LintOptions options{version_of(asked.papi), asked.pmu, nullptr};
  std::vector<preset::Identity> identities;
  if (!asked.identities.empty()) {
    identities = read_identities(asked.identities);
    options.identities = &identities;
  }
  const command::TableExport file(asked.export_to);
  bool wrong = false;
  std::vector<std::pair<std::string, LintResult>> results;
  for (const std::string& path : asked.tables.empty() ? installed_tables() : asked.tables) {
    const PresetTable table = PresetTable::read(path);
    preset::demand_rows(table);
    LintResult result = lint(table, options);
    keep_rules(result.findings, asked.rules);
    wrong = wrong || std::ranges::any_of(result.findings, [](const Finding& f) {
              return f.rule->severity == Severity::error;
            });
    results.emplace_back(path, std::move(result));
  }
  file.write("recount lint", {findings_table(results)});
  ReportOptions report;
  report.columns = static_cast<int>(command::line_width());
  report.notes = asked.all || !asked.rules.empty();
  if (report.notes) report.most = 0;
  if (asked.json) command::print("{}", as_json(results));
  for (std::size_t i = 0; i < results.size() && !asked.json; ++i) {
    const auto& [path, result] = results[i];
    if (asked.annotations)
      command::print("{}", as_annotations(path, result));
    else
      command::print("{}{}", i == 0 ? "" : "\n", as_text(path, result, report));
  }
  return wrong ? 1 : 0;
}

} // namespace

command::Command lint_command() {
  return {"lint", "check preset tables for all CPUs, without hardware",
          [](command::Options& options) -> std::function<int()> {
            const auto asked = std::make_shared<LintArguments>();
            options.words("TABLE", asked->tables, "check these tables (default: those installed with PAPI)")
                .text("--pmu", asked->pmu, "NAME",
                      "check only this PMU or CPU type, by its name in the table")
                .text("--papi-version", asked->papi, "VERSION",
                      "read the tables as this PAPI does: 7.0 (default) or 7.3")
                .list("--rule", asked->rules, "RULE", "report only this rule, with all findings; repeatable")
                .text("--identities", asked->identities, "FILE",
                      "use this table of identities (default: built in)")
                .flag("-a,--all", asked->all, "print all findings, including notes")
                .flag("--annotations", asked->annotations, "print file:line: severity: message, for CI")
                .flag("--json", asked->json, "print one JSON object")
                .text("--export", asked->export_to, "FILE", command::export_help);
            return [asked] { return execute_lint(*asked); };
          }};
}

} // namespace recount::lint
