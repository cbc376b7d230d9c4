#include "check/figure.hpp"

#include "check/results.hpp"

#include "plot/caption.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::figure {
namespace {

using analysis::Estimate, analysis::PresetVerdict, analysis::Stated;

std::optional<Share> share_of(const std::optional<Estimate>& counted, double stated) {
  if (!counted) return {};
  const auto [low, high] = std::minmax({counted->low / stated, counted->high / stated});
  return Share{counted->median / stated, low, high};
}

/// What all names have in common says nothing.
std::string short_name(const std::string& preset) {
  for (const std::string_view prefix : {"PAPI_", "perf::"})
    if (preset.starts_with(prefix)) return preset.substr(prefix.size());
  return preset;
}

std::optional<ShareRow> row_of(const PresetVerdict& verdict) {
  if (verdict.trials.empty()) return {};
  const auto& [trial, judgement] = verdict.trials.front();
  if (!trial.stated || trial.stated->value == 0 || (!judgement.perf && !judgement.papi)) return {};
  const Stated& s = *trial.stated;
  ShareRow row;
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

Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts, const result::Results& results) {
  Sheet sheet;
  sheet.name = "agreement";
  Panel panel;
  std::vector<std::string> left_out;
  for (const auto& verdict : verdicts) {
    if (auto row = row_of(verdict))
      panel.rows.push_back(std::move(*row));
    else if (verdict.verdict != analysis::Verdict::not_counted)
      left_out.push_back(verdict.preset);
  }
  if (panel.rows.empty())
    throw bad_input("figure agreement", "no preset was both counted and stated by a kernel",
                    "this figure needs the results of recount check");
  panel.title = "what presets count, as a share of what the code does";
  panel.x_title = "counted / stated";
  sheet.panels.push_back(std::move(panel));
  sheet.caption = machine_names(results);
  sheet.caption.emplace_back("bars: intervals of 90 %");
  if (!left_out.empty())
    sheet.warnings.push_back(fmt::format("not drawn, since nothing is stated that a share could be of: {}",
                                         fmt::join(left_out, ", ")));
  return sheet;
}

Figure agreement_figure() {
  return {{"agreement",
           "what each preset counts by perf and by PAPI, as a share of what its kernel must count",
           "the results of recount check"},
          [](const auto& results, const auto&) {
            return compose_agreement(study::verdicts_of(results), results);
          },
          [](const auto& results, const auto&) { return study::is_check(results); }};
}

} // namespace recount::figure
