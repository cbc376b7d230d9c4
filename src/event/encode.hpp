// Encoding for a given set of PMUs, independent of this machine.
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// As recount::encode() and recount::encode_each(), over these PMUs instead of the kernel's.
[[nodiscard]] Event encode_over(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus);
[[nodiscard]] std::vector<Event> encode_each_over(const std::string& name, Domain fallback,
                                                  const std::vector<host::Pmu>& pmus);

/// The nearest names to one that libpfm4 does not know, with their tables: events when the event is
/// unknown, unit masks and modifiers when only these are. `pmus` adds the events of sysfs.
[[nodiscard]] std::vector<std::string> suggestions(const std::string& name,
                                                   const std::vector<host::Pmu>& pmus);

// Hardware breakpoints as events: "mem:ADDRESS[/LENGTH][:rwx]".

/// Encodes a breakpoint (perf_event_open(2), PERF_TYPE_BREAKPOINT), the text as written by perf-record(1).
/// The length is 4 bytes unless given, and the size of a long for execution. Throws Error (bad_input). Pure.
[[nodiscard]] Event encode_breakpoint(const std::string& name, Domain fallback);

// PMUs that count whole CPUs, packages or memory controllers: which CPUs their events are opened on, several
// instances of one PMU, and the units of their events.

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
