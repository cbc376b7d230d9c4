#include "check/bundle.hpp"

#include "base/output_file.hpp"
#include "check/table.hpp"
#include "command/measuring.hpp"
#include "command/table_export.hpp"
#include "host/machine.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <filesystem>
#include <fmt/format.h>

namespace recount::check {
namespace {
namespace fs = std::filesystem;

/// The header of the counts, and the microcode.
command::Table machine_table(const result::Run& run) {
  command::Table table({{"machine"}, {""}}, "Machine");
  const auto& cpu = host::this_machine().cpu;
  const auto add = [&](const std::string& name, const std::string& value) {
    table.add({name, value.empty() ? "not stated" : value});
  };
  add("CPU", fmt::format("{} ({})", run.cpu, cpu.identity()));
  add("microcode", cpu.microcode);
  add("kernel", run.os);
  add("hypervisor", run.virtualised.empty() ? "none detected" : run.virtualised);
  for (const auto& [name, version] : run.versions)
    add(name, version);
  return table;
}

command::Table rows_table(const Checked& checked, const CheckContext& context) {
  command::Table table({{"preset"}, {"line", command::Table::Align::right}, {"row"}},
                       "Rows of " + (context.table.empty() ? std::string("the table") : context.table));
  for (const auto& verdict : checked.verdicts)
    if (const auto row = context.rows.find(verdict.preset); row != context.rows.end())
      table.add({verdict.preset, std::to_string(row->second.line), row->second.text});
  return table;
}

void write_counts(const std::string& path, const result::Results& results) {
  result::Writer writer(path, result::Writer::Mode::create);
  for (const auto& run : results.runs)
    writer.write(run);
  for (const auto& observation : results.observations)
    writer.write(observation);
  for (const auto& failure : results.failures)
    writer.write(failure);
}

} // namespace

void make_bundle_folder(const std::string& folder) {
  std::error_code error;
  const auto kind = fs::status(folder, error);
  const std::string option = "--bundle " + folder;
  if (fs::exists(kind) && !fs::is_directory(kind))
    throw bad_input(option, "is a file, not a folder", "name another folder");
  fs::create_directories(folder, error);
  if (error) throw base::cannot_write(option, error.value());
  const bool empty = fs::is_empty(folder, error);
  if (error) throw base::cannot_write(option, error.value());
  if (!empty) throw bad_input(option, "the folder is not empty", "name a new folder, or remove its files");
  base::check_writable("--bundle", (fs::path(folder) / "check.md").string(), base::Output::replaced);
}

void write_bundle(const std::string& folder, const Checked& checked, const CheckContext& context,
                  const sweep::Ended& ended) {
  const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
  const result::Run header = ended.results.runs.empty()
                                 ? witness::machine_header(command::command_line(), RECOUNT_VERSION)
                                 : ended.results.runs.back();
  std::vector<command::Table> tables{machine_table(header)};
  for (auto& table : check_tables(checked))
    tables.push_back(std::move(table));
  tables.push_back(rows_table(checked, context));
  command::TableExport(path("check.md")).write("recount check", tables);
  if (!base::write_file(path("check.json"), check_json(checked, context, ended)))
    throw base::cannot_write(path("check.json"), errno);
  write_counts(path("counts.jsonl"), ended.results);
  try {
    plot_check(path("agreement.svg"), checked, ended.results);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    command::note("recount check: warning: no figure: {}: {}\n", error.problem().subject,
                  error.problem().cause);
  }
}

} // namespace recount::check
