// Proposals as a preset table, each row with its evidence as comments.
#include "propose/comment.hpp"
#include "propose/propose.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command/output.hpp"
#include "kernel/proof_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::propose {
namespace {

std::string relatives_text(const Proposals& proposals) {
  std::string text;
  for (const auto& [cpu, common] : proposals.relatives)
    text += fmt::format("{}{} ({:.0f} %)", text.empty() ? "" : ", ", cpu, 100 * common);
  return text.empty() ? "none" : text;
}

std::string measurement_text(const Proposal& proposal) {
  const auto kernels = kernels_of(proposal.preset);
  if (kernels.empty()) return "to measure: no kernel of recount check has a known count of this preset";
  std::string what = fmt::format("to measure: recount check --table FILE {} (kernels: {})", proposal.preset,
                                 fmt::join(kernels, ", "));
  if (proposal.formulas.size() > 1)
    what += fmt::format("; it decides among {} formulas", proposal.formulas.size());
  return what;
}

std::string row_text(const Proposal& proposal) {
  const Formula& formula = proposal.formulas.front();
  std::string text =
      comment(fmt::format("{}: from {}{}; confidence: {}", proposal.preset, fmt::join(formula.from, " "),
                          formula.lines.size() == 1 ? " (one row)" : "", name_of(proposal.confidence)));
  for (const std::string& remark : proposal.remarks)
    text += comment("  " + remark);
  if (proposal.confidence != Confidence::high) text += comment("  " + measurement_text(proposal));
  return text + formula.row + "\n";
}

} // namespace

std::string comment(std::string text) {
  constexpr std::size_t columns = 118, indent = 4;
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  std::string lines;
  const std::string wrapped = command::fit(text, columns, indent);
  for (const std::string_view line : base::split(std::string_view(wrapped), '\n'))
    if (!line.empty()) lines += fmt::format("# {}\n", line);
  return lines;
}

std::vector<std::string> kernels_of(const std::string& preset) {
  std::vector<std::string> names;
  for (const kernel::ProofRow& row : kernel::proof_rows())
    for (const std::string_view one : base::split(std::string_view(row.presets), ' '))
      if (one == preset && std::ranges::find(names, row.kernel) == names.end())
        names.emplace_back(row.kernel);
  return names;
}

std::string csv_of(const Proposals& proposals, const std::string& table) {
  std::string text =
      comment(fmt::format("Presets of {}, proposed by recount {} from the rows of related CPUs in {}.",
                          proposals.cpu, RECOUNT_VERSION, table));
  text += comment("Related CPUs and their share of common event names: " + relatives_text(proposals));
  if (proposals.own > 0)
    text += comment(fmt::format("The table has {} for {}, not used here.",
                                base::format_count(proposals.own, "row"), proposals.cpu));
  text += "CPU," + proposals.cpu + "\n";
  for (const Proposal& proposal : proposals.rows)
    text += row_text(proposal);
  if (!proposals.missing.empty()) text += comment("Not proposed:");
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Unproposed& one : proposals.missing)
    reasons[one.reason].push_back(one.preset);
  for (const auto& [reason, presets] : reasons)
    text += comment(fmt::format("  {}: {}", reason, fmt::join(presets, " ")));
  return text;
}

} // namespace recount::propose
