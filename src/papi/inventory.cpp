#include "base/format.hpp"
#include "host/pmu.hpp"
#include "papi/library.hpp"
#include "papi/probe.hpp"
#include "process/child.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace recount::papi {
namespace {

constexpr std::chrono::seconds inventory_patience{30};

std::string table_read() {
  for (const auto& table : private_tables()) {
    if (table.variable == "PAPI_CSV_EVENT_FILE") return table.path;
  }
  return "built into PAPI " + version(); // or its data directory: PAPI does not report which
}

/// One child after the other, until each preset was tried: one that crashes costs only its own trial.
void try_presets(std::vector<Preset>& presets) {
  std::vector<std::string> left;
  for (const auto& preset : presets)
    left.push_back(preset.name);
  while (!left.empty()) {
    const auto child = process::in_fork(
        [&](int fd) {
          initialise_unguarded();
          write_trials(fd, left);
          return 0;
        },
        inventory_patience);
    const std::string last = parse_trials(child.out, presets);
    const auto it = std::find(left.begin(), left.end(), last);
    if (it == left.end()) return;
    const auto culprit =
        std::find_if(presets.begin(), presets.end(), [&](const Preset& p) { return p.name == last; });
    culprit->reason = "PAPI crashes while counting it: " + process::describe(child.exit);
    left.erase(left.begin(), it + 1);
  }
}

std::vector<std::string> why_none(const Inventory& inventory) {
  std::vector<std::string> reasons;
  std::string names;
  bool core = false;
  for (const auto& pmu : host::pmus()) {
    names += (names.empty() ? "" : ", ") + pmu.name;
    core = core || pmu.core();
  }
  if (!core)
    reasons.push_back(fmt::format("Linux has no core PMU here: /sys/bus/event_source/devices contains {}",
                                  names.empty() ? "nothing" : names));
  if (inventory.presets.empty()) {
    const auto cpu =
        inventory.core_pmu.empty() ? "this CPU, which libpfm4 does not know" : inventory.core_pmu;
    reasons.push_back(fmt::format("the preset table ({}) has no usable row for {}", inventory.table, cpu));
  } else if (core) {
    reasons.push_back(fmt::format("no preset of the table ({} in all) could be started: {}: {}",
                                  inventory.presets.size(), inventory.presets.front().name,
                                  inventory.presets.front().reason));
  }
  return reasons;
}

} // namespace

int Inventory::presets_counting() const {
  return static_cast<int>(
      std::count_if(presets.begin(), presets.end(), [](const Preset& p) { return p.counts; }));
}

Inventory inventory() {
  demand_readable_tables();
  const auto child = process::in_fork(
      [](int fd) {
        initialise_unguarded();
        write_claims(fd);
        return 0;
      },
      inventory_patience);
  if (child.exit.how != process::Exit::How::exited) throw crashed("listing its presets", child.exit);
  if (!child.exit.ok()) throw unavailable("PAPI", "it cannot be initialised: " + child.err);
  Inventory out = parse_claims(child.out);
  out.table = table_read();
  out.warnings = warnings();
  try_presets(out.presets);
  if (out.presets_counting() == 0) out.reasons = why_none(out);
  return out;
}

} // namespace recount::papi
