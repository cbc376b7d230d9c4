#include "base/text.hpp"
#include "commands/caches/view/caches_sections.hpp"
#include "commands/cli/commands.hpp"
#include "commands/report/build_report.hpp"
#include "run/result/results_file.hpp"
#include "show/command/measuring.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <iterator>

namespace recount::explain {
document::Section explain_section();
}

// recount report: a written report from results files.
namespace recount::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> files, formats;
  std::string folder, machine, statistic, external;
  bool explain = false, full = false;
};

int write_report(const ReportArguments& a) {
  if (a.files.empty())
    throw bad_input("report", "no results file given",
                    "recount report FILE ... -o FOLDER, with files of recount matmul -o FILE "
                    "or recount caches -o FILE");
  if (a.folder.empty()) throw bad_input("report", "no output folder given", "add -o FOLDER");
  auto formats = base::mapped(base::list_words(a.formats), report::parse_format);
  if (formats.empty()) formats = {report::Format::markdown, report::Format::html, report::Format::latex};
  const auto statistic = command::parse_statistic(a.statistic);
  auto results = result::read(a.files);
  result::join_shards(results);
  results.statistic = statistic;
  if (!a.external.empty()) {
    auto external = caches::read_external(a.external);
    std::ranges::move(external.runs, std::back_inserter(results.runs));
    std::ranges::move(external.observations, std::back_inserter(results.observations));
    for (const std::string& warning : external.warnings)
      command::note("recount report: warning: {}\n", warning);
    std::ranges::move(external.warnings, std::back_inserter(results.warnings));
  }
  auto parts = sections();
  if (a.explain) parts.push_back(explain::explain_section());
  const auto published = report::publish(
      report::build_report(results, {a.files, RECOUNT_VERSION, a.machine, a.full}, {figures(), parts}),
      a.folder, formats);
  for (const auto& warning : published.warnings)
    command::note("recount report: warning: {}\n", warning);
  for (const auto& file : published.files)
    command::print("{}\n", file);
  return 0;
}

} // namespace

command::Command report_command() {
  return command::make_command<ReportArguments>(
      "report", "write a report with tables, figures and conclusions",
      [](command::Options& options, ReportArguments& a) {
        options.words("FILE", a.files, "results files, of this machine or of others")
            .text("-o,--output", a.folder, "FOLDER", "write the report to FOLDER, created if missing")
            .list("--format", a.formats, "LIST",
                  "write these formats: markdown, html, latex, csv (default: the first three)")
            .flag("--full", a.full,
                  "also write the argument of each value, the method, every table and all values")
            .flag("--explain", a.explain,
                  "also test hypotheses about the machines against counts of matrix products "
                  "(seconds each)")
            .text("--machine", a.machine, "NAME",
                  "compare the measured caches with this described machine (default: with what "
                  "the system reports)")
            .text("--external-results", a.external, "FILE.csv",
                  "compare these times and misses per size and stride, measured by others, with the results")
            .text("--statistic", a.statistic, "NAME", command::statistic_help);
      },
      write_report);
}

} // namespace recount::cli
