// The machine and the software of the measurements.
#include "base/format.hpp"
#include "kernel/command_line.hpp"
#include "report/build_report.hpp"
#include "result/job_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

} // namespace recount::report
