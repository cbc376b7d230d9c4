#include "cli/presets.hpp"

#include "base/nearest.hpp"
#include "host/pmu.hpp"
#include "preset/here.hpp"
#include "preset/standard.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <algorithm>
#include <fmt/core.h>
#include <linux/perf_event.h>
#include <optional>
#include <set>

namespace recount::cli {
namespace {

using preset::CpuView;

/// The CPU of the table whose name has the most in common with ours, the last of them: tables grow at the
/// end.
std::string relative(const PresetTable& table, const std::string& cpu) {
  std::string best;
  std::size_t longest = 0;
  for (const std::string& other : table.cpus()) {
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(cpu, other).in1 - cpu.begin());
    if (common >= longest && preset::core_pmu(other)) {
      longest = common;
      best = other;
    }
  }
  return longest >= 3 ? best : std::string{};
}

std::string remark(const PresetTable& table, const std::string& cpu, bool here) {
  std::string text;
  if (!preset::has_rows(table, cpu)) {
    text = fmt::format("{} has no rows for {}, so PAPI has no presets for it.", table.name(), cpu);
    const std::string other = relative(table, cpu);
    if (!other.empty())
      text += fmt::format(" The most similar CPU in the table is {}: see --pmu {}.", other, other);
  }
  if (here && std::ranges::none_of(host::pmus(), [](const host::Pmu& pmu) { return pmu.core(); }))
    text += (text.empty() ? "" : "\n") + std::string("This machine has no core PMU, see recount doctor.");
  return text;
}

/// Why the term cannot be counted here and now; empty when it can.
std::string trial(const std::string& name, const preset::Native& native) {
  try {
    const std::string full = name.find("::") == std::string::npos ? native.pmu + "::" + name : name;
    Group group({encode(full, Domain::user)}, GroupOptions{});
    return {};
  } catch (const Error& error) {
    return error.problem().cause;
  }
}

/// A row that PAPI reads as this preset.
std::string row_text(const Preset& preset) {
  std::string text = fmt::format("PRESET,{},{}", preset.name, name_of(preset.type));
  if (preset.type == Derived::postfix) text += "," + preset.postfix;
  for (const PresetNative& term : preset.natives)
    text += "," + term.name;
  const std::pair<const char*, const std::string*> notes[] = {
      {"SDESC", &preset.brief}, {"LDESC", &preset.text}, {"NOTE", &preset.note}};
  for (const auto& [keyword, note] : notes)
    if (!note->empty()) text += fmt::format(",{},\"{}\"", keyword, *note);
  return text;
}

/// Events of the core PMU under any name: its own, ix86arch's, perf's generic ones.
bool takes_counter(const preset::Native& native, const event::pfm::Table& core) {
  return native.pmu == core.name || native.type == PERF_TYPE_HARDWARE || native.type == PERF_TYPE_HW_CACHE ||
         native.type == PERF_TYPE_RAW;
}

PresetLine available(const CpuView& view, const Preset& preset, bool here) {
  PresetLine line;
  line.name = preset.name;
  line.type = name_of(preset.type);
  line.note = preset.note;
  if (!preset.half_read && preset.undefined.empty()) line.row = row_text(preset);
  line.line = preset.place.line;
  std::set<int> distinct; // PAPI opens each spelling separately, even with the same encoding
  for (const PresetNative& term : preset.natives) {
    const preset::Native& native = view.natives->of(term.name);
    if (takes_counter(native, *view.core) && distinct.insert(term.code).second) line.events.insert(term.name);
    line.terms.push_back({term.name, fmt::format("type {} config {:#x}", native.type, native.config),
                          native.prose, here ? trial(term.name, native) : std::string{}});
    if (line.reason.empty() && !line.terms.back().reason.empty())
      line.reason = fmt::format("{}: {}", term.name, line.terms.back().reason);
  }
  line.counters = static_cast<int>(distinct.size());
  line.available = view.core->counters + view.core->fixed_counters;
  line.formula = preset::formula_text(preset);
  if (line.formula.empty()) line.reason = "the formula cannot be evaluated: " + preset.postfix;
  return line;
}

/// Whether the row is one of the table of user events: rows of both tables have line numbers only.
bool is_user_event(const Preset& preset, const PresetTable& table, const std::optional<PresetTable>& user) {
  const auto defines = [&](const PresetTable& one) {
    const preset::Line* const line = preset::line_at(one.document(), preset.place);
    return line && line->fields.size() > 1 && preset::same_word(line->fields[1].text, preset.name);
  };
  return user && defines(*user) && !defines(table);
}

} // namespace

PresetListing list_presets(const std::string& path, const std::string& cpu, PapiVersion version) {
  const PresetTable table = PresetTable::read(path);
  preset::demand_rows(table);
  const event::pfm::Table* const own = preset::default_pmu();
  const event::pfm::Table* const core = cpu.empty() ? own : preset::core_pmu(cpu);
  if (!core && cpu.empty())
    throw unavailable("this CPU", "libpfm4 does not know it, so PAPI loads no preset table", {},
                      "list presets of another CPU: recount presets --pmu NAME");
  if (!core) {
    std::vector<std::string> names;
    for (const auto& one : preset::core_pmus())
      names.push_back(one.name);
    throw bad_input(cpu, "libpfm4 has no core PMU of that name", base::did_you_mean(cpu, names));
  }
  PresetListing listing;
  listing.table = path;
  listing.cpu = core->name;
  listing.here = own && own->name == core->name;
  listing.remark = remark(table, core->name, listing.here);
  listing.counters = core->counters + core->fixed_counters;
  listing.user_table = preset::papi_user_events();
  std::optional<PresetTable> user;
  if (!listing.user_table.empty()) user = PresetTable::read(listing.user_table);
  const CpuView view =
      preset::view(table.document(), core->name, core, version, user ? &user->document() : nullptr);
  if (view.loaded.crashes)
    throw bad_input(fmt::format("{}:{}", path, view.loaded.crash_place.line),
                    "PAPI crashes on this row: " + view.loaded.crash, "recount lint " + path);
  for (const auto& standard : preset::standard_presets()) {
    const Preset* const found = view.loaded.find(standard.name);
    PresetLine line = found ? available(view, *found, listing.here) : PresetLine{};
    line.name = standard.name;
    line.prose = standard.text;
    if (!found || found->half_read) line.reason = preset::why_not(view, table, standard.name);
    listing.presets.push_back(std::move(line));
  }
  for (const Preset& extra : view.loaded.presets)
    if (!preset::standard_preset(extra.name)) {
      listing.presets.push_back(available(view, extra, listing.here));
      listing.presets.back().user = is_user_event(extra, table, user);
    }
  listing.components = preset::component_blocks(table.document());
  return listing;
}

void try_by_papi(PresetListing& listing) {
  const papi::Inventory papi = papi::inventory();
  for (PresetLine& p : listing.presets) {
    const auto found = std::ranges::find(papi.presets, p.name, &papi::Preset::name);
    if (found == papi.presets.end())
      p.trial = papi.presets.empty() && !papi.reasons.empty() ? papi.reasons.front()
                                                              : "PAPI has no such preset for this CPU";
    else
      p.trial = found->counts ? "counts" : found->reason;
  }
}

} // namespace recount::cli
