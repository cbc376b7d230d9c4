// PMUs that count whole CPUs, packages or memory controllers: which CPUs their events are opened on, several
// instances of one PMU, and the units of their events.
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// What a count is multiplied by to have a unit: "events/energy-pkg.scale" and ".unit" of sysfs
/// (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
struct Scale {
  double factor = 1;
  std::string unit; ///< "Joules", "MiB"
};
/// The scale that the event's PMU states for its code. None: it states none. Pure.
[[nodiscard]] std::optional<Scale> scale_of(const Event& event, const std::vector<host::Pmu>& pmus);

/// "uncore_imc/cas_count_read/" on a machine that has uncore_imc_0, uncore_imc_1, ...: the name on each of
/// them. Empty where a PMU has the name itself, or none has it with a number. Pure.
[[nodiscard]] std::vector<std::string> instances(const std::string& name, const std::vector<host::Pmu>& pmus);

} // namespace recount::event
