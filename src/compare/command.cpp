// recount compare: results of several machines side by side.
#include "command/command.hpp"
#include "command/document_text.hpp"
#include "command/measuring.hpp"
#include "command/outputs.hpp"
#include "command/plot_file.hpp"
#include "command/print.hpp"
#include "command/table_export.hpp"
#include "command/terminal_size.hpp"
#include "compare/compare.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace recount::compare {
namespace {

struct CompareArguments {
  std::vector<std::string> files, by;
  std::string plot, export_to;
  long threshold = 5;
  bool all = false, json = false;
};

/// All files, and the file of each run.
result::Results read_files(const CompareArguments& a, CompareOptions& options) {
  if (a.files.empty())
    throw bad_input("recount compare", "no results file given",
                    "recount compare FILE ..., with files of recount sweep -o FILE from several machines");
  if (std::ranges::count(command::list_words(a.by), "file") > 0)
    for (const std::string& path : a.files)
      for (const result::Run& run : result::read(path).runs)
        options.files.try_emplace(run.id, std::filesystem::path(path).filename().string());
  auto results = result::read(a.files);
  for (const std::string& warning : results.warnings)
    command::note("recount compare: warning: {}\n", warning);
  return results;
}

void demand_several(const Comparison& c) {
  if (c.nodes.size() < 2)
    throw bad_input(
        "recount compare",
        fmt::format("all results are of one {}: {}", c.by, c.nodes.empty() ? "(none)" : c.nodes[0]),
        "name files of several machines, or compare by something else: --by file");
  if (c.quantities.empty())
    throw unavailable("recount compare", "no metric was counted at the same point on two nodes", {},
                      "run the same command on each node");
}

void plot_nodes(const std::string& path, const Comparison& c, const result::Results& results) {
  if (path.empty()) return;
  const plot::Sheet sheet = compose_nodes(c, results);
  if (path == "-")
    command::print("{}", command::own_controls(plot::draw_text(sheet, command::terminal_size())));
  else
    command::draw_to(path, sheet);
}

int execute_compare(const CompareArguments& a) {
  command::check_outputs({.plot = a.plot, .plot_on_terminal = true, .json = a.json});
  const command::TableExport tables(a.export_to);
  CompareOptions options;
  if (!a.by.empty()) options.by = fmt::format("{}", fmt::join(command::list_words(a.by), ","));
  options.least_share = static_cast<double>(a.threshold) / 100;
  const result::Results results = read_files(a, options);
  const Comparison comparison = compare(results, options);
  demand_several(comparison);
  if (a.json)
    command::print("{}", comparison_json(comparison));
  else
    command::print("{}", command::document_text(comparison_blocks(comparison, a.all)));
  command::flush(stdout);
  if (!a.export_to.empty())
    tables.write("recount compare", command::tables_of(comparison_tables(comparison)));
  plot_nodes(a.plot, comparison, results);
  return comparison.findings.empty() ? 0 : 1;
}

} // namespace

command::Command compare_command() {
  return {"compare", "compare the results of several machines and name outliers",
          [](command::Options& options) -> std::function<int()> {
            const auto a = std::make_shared<CompareArguments>();
            options.words("FILE", a->files, "results files of several machines, compilers or commits")
                .list("--by", a->by, "LIST",
                      "what distinguishes the nodes: node, host, file, cpu, compiler, ... (default node)")
                .number("--threshold", a->threshold, "PERCENT",
                        "smallest difference from the median to report (default 5)", {0, 1000})
                .flag("-a,--all", a->all, "list every quantity")
                .flag("--json", a->json, "print one JSON object")
                .text("--export", a->export_to, "FILE", command::export_help)
                .text("--plot", a->plot, "FILE",
                      "plot a dot for each node with its interval; - plots text on the terminal");
            return [a] { return execute_compare(*a); };
          }};
}

} // namespace recount::compare
