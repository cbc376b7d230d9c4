// recount compare: results of several machines side by side.
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "compare/compare.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace recount::compare {
namespace {

struct CompareArguments {
  std::vector<std::string> files, by;
  std::string plot, export_to;
  long threshold = 5;
  bool all = false, json = false;
};

/// All files; and for the axis "file", the file of each run.
result::Results read_files(const CompareArguments& a, CompareOptions& options) {
  if (a.files.empty())
    throw bad_input("recount compare", "no results file given",
                    "recount compare FILE ..., with files of recount sweep -o FILE from several machines");
  if (std::ranges::count(options.by, "file") > 0)
    for (const std::string& path : a.files)
      for (const result::Run& run : result::read(path).runs)
        options.files.try_emplace(run.id, std::filesystem::path(path).filename().string());
  auto results = result::read(a.files);
  for (const std::string& warning : results.warnings)
    command::note("recount compare: warning: {}\n", warning);
  return results;
}

void require_comparable(const Comparison& c) {
  if (c.nodes.size() < 2)
    throw bad_input(
        "recount compare",
        fmt::format("all results are of one {}: {}", c.by, c.nodes.empty() ? "(none)" : c.nodes[0]),
        "name files of several machines, or compare by something else: --by file");
  if (c.quantities.empty())
    throw unavailable("recount compare", "no metric was counted at the same point on two nodes", {},
                      "run the same command on each node");
}

int execute_compare(const CompareArguments& a) {
  command::check_outputs({.plot = a.plot, .plot_on_terminal = true, .json = a.json});
  const command::TableExport tables(a.export_to);
  CompareOptions options;
  if (!a.by.empty()) options.by = command::list_words(a.by);
  options.least_share = static_cast<double>(a.threshold) / 100;
  const result::Results results = read_files(a, options);
  const Comparison comparison = compare(results, options);
  require_comparable(comparison);
  command::print("{}", a.json ? comparison_json(comparison)
                              : command::document_text(comparison_blocks(comparison, a.all)));
  command::flush(stdout);
  if (!a.export_to.empty())
    tables.write("recount compare", command::tables_of(comparison_tables(comparison)));
  if (!a.plot.empty()) command::draw_to(a.plot, compose_nodes(comparison, results));
  return comparison.findings.empty() ? 0 : 1;
}

} // namespace

command::Command compare_command() {
  return command::make_command<CompareArguments>(
      "compare", "compare the results of several machines and name outliers",
      [](command::Options& options, CompareArguments& a) {
        options.words("FILE", a.files, "results files of several machines, compilers or commits")
            .list("--by", a.by, "LIST",
                  "what distinguishes the nodes: node, host, file, cpu, compiler, ... (default node)")
            .number("--threshold", a.threshold, "PERCENT",
                    "smallest difference from the median to report (default 5)", {0, 1000})
            .flag("-a,--all", a.all, "list every quantity")
            .flag("--json", a.json, "print one JSON object")
            .text("--export", a.export_to, "FILE", command::export_help)
            .text("--plot", a.plot, "FILE",
                  "plot a dot for each node with its interval; - plots text on the terminal");
      },
      execute_compare);
}

} // namespace recount::compare
