#include "check/ground.hpp"

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

namespace recount::study {
namespace {

/// What a raw counter makes of the preset; what only its row is to blame for is worth a run: PAPI may count
/// it.
std::string trouble_of(const std::string& preset) {
  const witness::MetricEvents asked = witness::resolve_metric(preset);
  return asked.by_row ? std::string() : asked.refused;
}

void add_presets(Ground& ground, const preset::Here& here) {
  for (const auto& standard : preset::standard_presets()) {
    const std::string name(standard.name);
    ground.presets.push_back({name, here.find(name) ? trouble_of(name) : here.why_not(name)});
  }
  for (const Preset& other : here.view().loaded.presets)
    if (!preset::standard_preset(other.name)) ground.presets.push_back({other.name, trouble_of(other.name)});
  ground.kind = here.view().kind;
  ground.table = here.table().name();
}

/// A table that kills PAPI, with the row at fault where recount knows it.
Error blamed(const Error& crash) {
  const std::string& table = crash.problem().subject;
  const preset::Here here(witness::papi_reading());
  for (const Preset& preset : here.view().loaded.presets)
    if (preset.half_read)
      return bad_input(
          fmt::format("{}:{}", table, preset.place.line),
          fmt::format("{}; {}: {}", crash.problem().cause, preset.name, here.why_not(preset.name)),
          "recount lint " + table);
  return bad_input(table, crash.problem().cause, "recount lint " + table);
}

/// Without a table, or on a CPU that libpfm4 does not know, there are no presets, but events.
void add_presets(Ground& ground) {
  try {
    const preset::Here here(witness::papi_reading());
    papi::demand_harmless_tables();
    add_presets(ground, here);
  } catch (const Error& error) {
    if (papi::is_crash(error)) throw blamed(error);
    if (error.kind() == ErrorKind::bad_input) throw;
    const std::string why = error.problem().subject + ": " + error.problem().cause;
    for (const auto& standard : preset::standard_presets())
      ground.presets.push_back({std::string(standard.name), why});
  }
}

std::optional<model::MachineDescription> caches(std::vector<std::string>& notes) {
  try {
    return model::machine("host");
  } catch (const Error& error) {
    notes.push_back("What depends on the sizes of caches is not checked: " + error.problem().cause + ".");
    return {};
  }
}

} // namespace

Ground ground_here() {
  Ground ground;
  const auto pmus = host::pmus();
  if (std::ranges::none_of(pmus, [](const host::Pmu& pmu) { return pmu.core(); }))
    ground.notes.emplace_back(
        "This machine has no core PMU, see recount doctor: only Linux events are checked.");
  add_presets(ground);
  ground.proofs = kernel::proofs(caches(ground.notes));
  const auto unprovable = kernel::unprovable();
  ground.unprovable.assign(unprovable.begin(), unprovable.end());
  ground.identities = preset::identities();
  return ground;
}

} // namespace recount::study
