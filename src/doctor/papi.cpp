// PAPI: what it claims, what it counts, and why no preset does.
#include "doctor/doctor.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::cli {
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
      "of {} preset names PAPI claims {} for this CPU ({}), and {} start in a trial", papi.presets_known,
      papi.presets.size(), papi.core_pmu.empty() ? "no core PMU known to libpfm4" : papi.core_pmu, counting);
  if (counting > 0 && static_cast<std::size_t>(counting) == papi.presets.size())
    return {State::works, "presets", claim + "; whether they count what they say recount check tells", {}};
  if (counting > 0)
    return {State::limited, "presets", claim, "recount presets tells why each of the others does not"};
  return {State::missing, "presets", fmt::format("{}: {}", claim, fmt::join(papi.reasons, "; ")),
          "count native software events through PAPI, or bring a table: PAPI_CSV_EVENT_FILE=FILE"};
}

/// What a reader of PAPI's own tools would otherwise take for a PMU.
Finding beliefs(const papi::Inventory& papi) {
  std::string text;
  for (const auto& c : papi.components) {
    if (c.counters_claimed > 0 && !c.pmus.empty())
      text = fmt::format(
          "PAPI says \"{} hardware counters\" and libpfm4 counts {} as present: both only mean that "
          "they know the CPUID",
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
    area.findings.push_back({papi.software_events ? State::works : State::missing,
                             "library",
                             fmt::format("PAPI {}, table {}; software events {} through it", papi.version,
                                         papi.table, papi.software_events ? "count" : "do not count"),
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

} // namespace recount::cli
