#include "check/check.hpp"

#include "check/verdict.hpp"
#include "command/output.hpp"
#include "command/plot_file.hpp"
#include "command/terminal_size.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <recount/error.hpp>

namespace recount::check {

void plot_check(const std::string& path, const Checked& checked, const result::Results& results) {
  if (path.empty()) return;
  if (std::ranges::all_of(checked.verdicts,
                          [](const auto& v) { return v.verdict == Verdict::not_counted; })) {
    command::note("recount check: no figure: nothing was counted\n");
    return;
  }
  if (path == "-") {
    command::print("{}", command::own_controls(plot::draw_text(
                             check::compose_agreement(checked.verdicts, results), command::terminal_size())));
    return;
  }
  plot::Options options;
  options.targets = {{*plot::format_of(path), path}};
  command::tell_drawn("agreement", plot::draw(check::compose_agreement(checked.verdicts, results), options));
}

} // namespace recount::check
