#include "check/plot.hpp"

#include "check/figure.hpp"
#include "command/output.hpp"
#include "command/plot_file.hpp"
#include "command/terminal_size.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::cli {

void plot_check(const std::string& path, const study::Checked& checked, const result::Results& results) {
  if (path.empty()) return;
  if (std::ranges::all_of(checked.verdicts,
                          [](const auto& v) { return v.verdict == analysis::Verdict::not_counted; })) {
    cli::print(stderr, "recount check: no figure: nothing was counted\n");
    return;
  }
  if (path == "-") {
    cli::print("{}", own_controls(figure::draw_text(figure::compose_agreement(checked.verdicts, results),
                                                    terminal_size())));
    return;
  }
  figure::Options options;
  options.targets = {{*figure::format_of(path), path}};
  tell_drawn("agreement", figure::draw(figure::compose_agreement(checked.verdicts, results), options));
}

} // namespace recount::cli
