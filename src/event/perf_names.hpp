// Names that users of perf(1) type and that neither libpfm4 nor a PMU's own notation knows.
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// An event that core PMUs have in sysfs, "slots", in the notation of sysfs: one name for each core type that
/// has it. Empty: none has. Pure.
[[nodiscard]] std::vector<std::string> sysfs_names(const std::string& name,
                                                   const std::vector<host::Pmu>& pmus);

/// A software event that libpfm4 lacks: "dummy", "bpf-output", "alignment-faults", "emulation-faults". Pure.
[[nodiscard]] std::optional<Event> software_event(const std::string& name, Domain fallback);

/// A tracepoint, "sched:sched_switch", by its number in tracefs; nothing where it has none or may not be
/// read. `roots`: where tracefs may be mounted.
[[nodiscard]] std::optional<Event> tracepoint(const std::string& name, Domain fallback,
                                              const std::vector<std::string>& roots = {
                                                  "/sys/kernel/tracing", "/sys/kernel/debug/tracing"});

} // namespace recount::event
