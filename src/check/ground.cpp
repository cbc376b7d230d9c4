#include "check/ground.hpp"

#include "base/text.hpp"
#include "host/pmu.hpp"
#include "model/machine.hpp"
#include "papi/library.hpp"
#include "preset/here.hpp"
#include "preset/standard.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace recount::check {
namespace {

/// Why perf cannot count the preset, and its terms. A row without a value is no reason: PAPI may still count
/// it.
Candidate candidate_of(const std::string& preset) {
  const witness::MetricEvents asked = witness::resolve_metric(preset);
  Candidate made{preset, asked.by_row ? std::string() : asked.refused};
  if (asked.refused.empty() && asked.events.size() > 1)
    for (const Event& event : asked.events)
      made.terms.push_back(event.name);
  return made;
}

void add_presets(CheckContext& context, const preset::MachinePresets& here) {
  for (const auto& standard : preset::standard_presets()) {
    const std::string name(standard.name);
    context.presets.push_back(here.find(name) ? candidate_of(name) : Candidate{name, here.why_not(name)});
  }
  for (const Preset& other : here.view().loaded.presets)
    if (!preset::standard_preset(other.name)) context.presets.push_back(candidate_of(other.name));
  const std::string text = base::read_file(here.table().name()).value_or("");
  const auto lines = base::split(std::string_view(text), '\n');
  for (const Preset& preset : here.view().loaded.presets)
    if (const auto line = static_cast<std::size_t>(preset.place.line);
        line > 0 && line <= lines.size() && !context.rows.contains(preset.name))
      context.rows[preset.name] = {preset.place.line, std::string(base::trim(lines[line - 1]))};
  context.kind = here.view().kind;
  context.table = here.table().name();
}

/// A table that crashes PAPI, with the row at fault where it is known.
Error crash_error(const Error& crash) {
  const std::string& table = crash.problem().subject;
  const preset::MachinePresets here(witness::papi_reading());
  for (const Preset& preset : here.view().loaded.presets)
    if (preset.half_read)
      return bad_input(
          fmt::format("{}:{}", table, preset.place.line),
          fmt::format("{}; {}: {}", crash.problem().cause, preset.name, here.why_not(preset.name)),
          "recount lint " + table);
  return bad_input(table, crash.problem().cause, "recount lint " + table);
}

/// Without a table, or on a CPU that libpfm4 does not know, there are no presets, but events.
void add_presets(CheckContext& context) {
  try {
    const preset::MachinePresets here(witness::papi_reading());
    papi::demand_harmless_tables();
    add_presets(context, here);
  } catch (const Error& error) {
    if (papi::is_crash(error)) throw crash_error(error);
    if (error.kind() == ErrorKind::bad_input) throw;
    const std::string why = error.problem().subject + ": " + error.problem().cause;
    for (const auto& standard : preset::standard_presets())
      context.presets.push_back({std::string(standard.name), why});
  }
}

std::optional<model::MachineDescription> caches(std::vector<std::string>& notes) {
  try {
    return model::machine("host");
  } catch (const Error& error) {
    notes.push_back("Not checked, since it depends on cache sizes: " + error.problem().cause + ".");
    return {};
  }
}

} // namespace

CheckContext check_context() {
  CheckContext context;
  const auto pmus = host::pmus();
  if (std::ranges::none_of(pmus, [](const host::Pmu& pmu) { return pmu.core(); }))
    context.notes.emplace_back(
        "This machine has no core PMU (see recount doctor): only software events are checked.");
  add_presets(context);
  const auto machine = caches(context.notes);
  context.proofs = kernel::proofs(machine);
  context.beside = kernel::beside(machine);
  context.relations = kernel::relations(machine);
  const auto unprovable = kernel::unprovable();
  context.unprovable.assign(unprovable.begin(), unprovable.end());
  context.identities = preset::identities();
  return context;
}

} // namespace recount::check
