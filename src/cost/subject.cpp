// What the interfaces count for the names that were asked for.
#include "cost/routes.hpp"

#include "papi/library.hpp"
#include "preset/here.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <algorithm>
#include <cstring>

namespace recount::cost {
namespace {

void add_once(std::vector<Event>& events, const Event& event) {
  const bool there = std::ranges::any_of(
      events, [&](const Event& e) { return std::memcmp(&e.attr, &event.attr, sizeof e.attr) == 0; });
  if (!there) events.push_back(event);
}

} // namespace

Subject subject_of(const std::vector<std::string>& names, Domain domain) {
  Subject subject{names, {}, {}, {}};
  for (const auto& name : names) {
    const bool standard = name.starts_with("PAPI_");
    if (standard) const PapiSet trial({name}, domain); // names the nearest where there is none
    const witness::MetricEvents asked = witness::resolve_metric(name, domain);
    if (!standard && !asked.preset) {
      subject.events.push_back(encode(name, domain));
      continue;
    }
    if (!asked.refused.empty() && subject.refused.empty()) subject.refused = name + ": " + asked.refused;
    DerivedPreset& preset = subject.presets.emplace_back();
    preset.name = name;
    if (asked.preset) preset.type = name_of(asked.preset->papi_definition.type);
    for (const Event& event : asked.events) {
      preset.terms.push_back(event.name);
      add_once(subject.events, event);
    }
  }
  return subject;
}

std::optional<Subject> derived_subject(Derived type, Domain domain) {
  try {
    papi::demand_harmless_tables();
    const preset::MachinePresets here(witness::papi_reading());
    for (const Preset& preset : here.view().loaded.presets) {
      if (preset.type != type || preset.half_read || !preset.undefined.empty()) continue;
      try {
        Subject subject = subject_of({preset.name}, domain);
        if (subject.refused.empty() && subject.events.size() > 1) return subject;
      } catch (const Error&) { // not here
      }
    }
  } catch (const Error&) { // no table, or no CPU that libpfm4 knows
  }
  return {};
}

} // namespace recount::cost
