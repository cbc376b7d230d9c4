#include "cli/check_plot.hpp"

#include "cli/output.hpp"
#include "cli/terminal_size.hpp"
#include "figure/figure.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::cli {

void demand_plot_path(const std::string& path) {
  if (path.empty() || path == "-" || figure::format_of(path)) return;
  throw bad_input("--plot " + path, "no format is known by this suffix",
                  "end it in .pdf, .svg, .png, .tikz, .tex or .txt; or - for the terminal");
}

void plot_check(const std::string& path, const study::Checked& checked, const result::Results& results) {
  if (path.empty()) return;
  if (std::ranges::all_of(checked.verdicts,
                          [](const auto& v) { return v.verdict == analysis::Verdict::not_counted; })) {
    fmt::print(stderr, "recount check: no figure, since nothing was counted\n");
    return;
  }
  if (path == "-") {
    fmt::print("{}", figure::draw_agreement_text(checked.verdicts, results, terminal_size()));
    return;
  }
  figure::Options options;
  options.targets = {{*figure::format_of(path), path}};
  const auto drawn = figure::draw_agreement(checked.verdicts, results, options);
  for (const auto& warning : drawn.warnings)
    fmt::print(stderr, "recount check: warning: {}\n", warning);
  for (const auto& file : drawn.files)
    fmt::print(stderr, "agreement: {}\n", file);
}

} // namespace recount::cli
