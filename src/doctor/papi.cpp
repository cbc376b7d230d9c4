// PAPI: components, presets, and why presets cannot be counted.
#include "doctor/doctor.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::doctor {
namespace {
using State = Finding::State;

Finding components(const papi::Inventory& papi) {
  std::vector<std::string> on, off;
  for (const auto& c : papi.components)
    c.enabled ? on.push_back(c.name) : off.push_back(fmt::format("{} ({})", c.name, c.disabled_reason));
  return {State::note,
          "components",
          fmt::format("enabled: {}; disabled: {}",
                      on.empty() ? "none" : fmt::format("{}", fmt::join(on, ", ")),
                      off.empty() ? "none" : fmt::format("{}", fmt::join(off, ", "))),
          {}};
}

Finding presets(const papi::Inventory& papi) {
  const int counting = papi.presets_counting();
  const std::string claim = fmt::format(
      "PAPI lists {1} of {0} presets for this CPU ({2}); {3} can be started in a trial", papi.presets_known,
      papi.presets.size(), papi.core_pmu.empty() ? "no core PMU known to libpfm4" : papi.core_pmu, counting);
  if (counting > 0 && static_cast<std::size_t>(counting) == papi.presets.size())
    return {State::works, "presets", claim + "; validate them with recount check", {}};
  if (counting > 0) return {State::limited, "presets", claim, "recount presets -a"};
  return {State::missing, "presets", fmt::format("{}: {}", claim, fmt::join(papi.reasons, "; ")),
          "count native software events, or provide a preset table: PAPI_CSV_EVENT_FILE=FILE"};
}

/// Output of PAPI's tools that may be mistaken for a usable PMU.
Finding beliefs(const papi::Inventory& papi) {
  std::string text;
  for (const auto& c : papi.components) {
    if (c.counters_claimed > 0 && !c.pmus.empty())
      text = fmt::format(
          "PAPI reports \"{} hardware counters\" and libpfm4 lists {} as present; both follow from the "
          "CPUID alone and do not mean that a PMU is usable",
          c.counters_claimed, fmt::join(c.pmus, ", "));
    if (c.name == "perf_event" && !text.empty()) break;
  }
  return {State::note, "claims", text.empty() ? "libpfm4 names no PMU of this CPU" : text, {}};
}
} // namespace

Area examine_papi() {
  Area area{"PAPI", {}};
  try {
    const auto papi = papi::inventory();
    area.findings.push_back(
        {papi.software_events ? State::works : State::missing,
         "library",
         fmt::format("PAPI {}, table {}; software events {} through PAPI", papi.version, papi.table,
                     papi.software_events ? "are counted" : "are not counted"),
         {}});
    area.findings.push_back(components(papi));
    area.findings.push_back(presets(papi));
    area.findings.push_back(beliefs(papi));
    for (const auto& warning : papi.warnings)
      area.findings.push_back({State::limited, "settings", warning, {}});
  } catch (const Error& e) {
    area.findings.push_back(
        {State::missing, "library", e.problem().subject + ": " + e.problem().cause, e.problem().remedy});
  }
  return area;
}

} // namespace recount::doctor
