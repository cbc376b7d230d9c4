// The rows of a CPU that has rows, compared with what would have been proposed without them.
#include "preset/standard.hpp"
#include "propose/propose.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::propose {
namespace {

std::string vendor_of(const preset::CpuView& view) {
  constexpr std::pair<std::string_view, std::string_view> prefixes[] = {{"amd64", "AMD"}, {"power", "IBM"},
                                                                        {"arm", "Arm"},   {"qcom", "Arm"},
                                                                        {"ultra", "Sun"}, {"niagara", "Sun"}};
  for (const auto& [prefix, vendor] : prefixes)
    if (view.cpu.starts_with(prefix)) return std::string(vendor);
  return "Intel";
}

} // namespace

Lineage::Comparison Lineage::leave_out(const std::string& cpu) {
  const preset::CpuView& own = *view_of(cpu);
  Codes codes;
  const Proposals all = propose(own.cpu, {}, codes);
  Comparison result{own.cpu, vendor_of(own), 0, 0, 0, 0, 0, 0, {}, {}};
  if (!all.relatives.empty()) result.nearest = all.relatives.front().first;
  EventIndex& here = events_of(own.cpu);
  for (const Preset& preset : own.loaded.presets) {
    if (!preset::standard_preset(preset.name) || !own.meanings.contains(preset.name)) continue;
    ++result.rows;
    const auto at = std::ranges::find(all.rows, preset.name, &Proposal::preset);
    if (at == all.rows.end()) {
      ++result.missing;
      continue;
    }
    std::vector<formula::Variable> variables;
    for (const formula::Variable v : own.variables(preset)) {
      const std::string& name = own.names[static_cast<std::size_t>(v)];
      variables.push_back(codes.of(here.natives().of(name), name));
    }
    const auto meaning = preset::meaning(preset, variables);
    if (meaning && formula::equal(*meaning, at->formulas.front().meaning).value_or(false)) {
      ++result.equal;
      continue;
    }
    ++result.different;
    if (at->remarks.empty()) ++result.unremarked;
    result.details.push_back(fmt::format("{}{}: {} proposed, {} in the table", preset.name,
                                         at->remarks.empty() ? " (no remark)" : "", at->formulas.front().text,
                                         meaning ? text_of(*meaning, codes.names, preset, {}) : "?"));
  }
  result.extra = static_cast<int>(
      std::ranges::count_if(all.rows, [&](const Proposal& p) { return !own.loaded.find(p.preset); }));
  return result;
}

} // namespace recount::propose
