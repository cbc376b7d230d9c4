#include "check/check_figure.hpp"

#include "check/index.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/terminal.hpp"
#include "plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::check {
namespace {

using statistics::Estimate;

std::optional<plot::Share> share_of(const std::optional<Estimate>& counted, double stated) {
  if (!counted) return {};
  const auto [low, high] = std::minmax({counted->low / stated, counted->high / stated});
  return plot::Share{counted->median / stated, low, high};
}

/// Without the prefix that all names share.
std::string short_name(const std::string& preset) {
  for (const std::string_view prefix : {"PAPI_", "perf::"})
    if (preset.starts_with(prefix)) return preset.substr(prefix.size());
  return preset;
}

std::optional<plot::ShareRow> row_of(const PresetVerdict& verdict) {
  if (verdict.trials.empty()) return {};
  const auto& [trial, judgement] = verdict.trials.front();
  if (!trial.stated || trial.stated->value == 0 || (!judgement.perf && !judgement.papi)) return {};
  const Stated& s = *trial.stated;
  plot::ShareRow row;
  row.label = short_name(verdict.preset);
  row.perf = share_of(judgement.perf, s.value);
  row.papi = share_of(judgement.papi, s.value);
  row.stated = {1, (s.value - s.below) / s.value - trial.tolerance,
                (s.value + s.above) / s.value + trial.tolerance};
  row.remark = std::string(name_of(verdict.verdict));
  row.good = sound(verdict.verdict);
  return row;
}

} // namespace

plot::Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts, const result::Results& results) {
  plot::Sheet sheet;
  sheet.name = "agreement";
  plot::Panel panel;
  std::vector<std::string> left_out;
  for (const auto& verdict : verdicts) {
    if (auto row = row_of(verdict))
      panel.rows.push_back(std::move(*row));
    else if (verdict.verdict != Verdict::not_counted)
      left_out.push_back(verdict.preset);
  }
  if (panel.rows.empty())
    throw bad_input("figure agreement", "no preset has both a count and an expected count",
                    "use the results of recount check");
  panel.title = "counts of presets, relative to the expected counts";
  panel.x_title = "counted / expected";
  sheet.panels.push_back(std::move(panel));
  sheet.caption = plot::machine_names(results);
  sheet.caption.emplace_back("bars: 90 % confidence intervals");
  if (!left_out.empty())
    sheet.warnings.push_back(
        fmt::format("not drawn, since the expected count is 0 or unknown: {}", fmt::join(left_out, ", ")));
  return sheet;
}

plot::Figure agreement_figure() {
  return {{"agreement",
           "counts of each preset by perf and by PAPI, relative to the expected count of its kernel",
           "the results of recount check"},
          [](const auto& results, const auto&) {
            return compose_agreement(check::verdicts_of(results), results);
          },
          [](const auto& results, const auto&) { return check::is_check(results); }};
}

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

document::Section check_section() {
  return {"presets", [](const document::Material& material) {
            std::vector<document::Block> blocks;
            for (const document::Part& part : material.parts)
              if (auto picture = material.gallery.add("agreement", part))
                blocks.emplace_back(std::move(*picture));
            return document::under("Validation of presets", std::move(blocks));
          }};
}

} // namespace recount::check
