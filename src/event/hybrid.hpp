// CPUs with several core types, each a PMU of its own.
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// The core PMUs, where there is more than one core type; else nothing.
[[nodiscard]] std::vector<const host::Pmu*> hybrid_cores(const std::vector<host::Pmu>& pmus);

/// An event that the kernel itself translates for each PMU: type HARDWARE or HW_CACHE.
[[nodiscard]] bool generic(const perf_event_attr& attr) noexcept;

/// Type and config of a generic event ("INSTRUCTIONS", "cycles") scheduled of that type: the type goes into
/// bits 63:32 of config (perf_event_open(2), PERF_PMU_TYPE_SHIFT). Nothing if the name is no generic event.
struct Code {
  std::uint32_t type;
  std::uint64_t config;
};
[[nodiscard]] std::optional<Code> generic_on(const std::string& name, std::uint32_t pmu_type);

/// The core type that counts an event; null where all cores are of one type, and for events that no core type
/// counts: software, breakpoints, uncore. Without a type in its config a generic event belongs to the PMU of
/// type PERF_TYPE_RAW (perf_event_open(2), PERF_PMU_CAP_EXTENDED_HW_TYPE). Pure.
[[nodiscard]] const host::Pmu* core_of(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus);

/// Slots of Intel's top-down analysis, and one of the metrics of the register PERF_METRICS, which count only
/// in a group that slots leads (arch/x86/events/perf_event.h: INTEL_TD_SLOTS, is_metric_event()). Only where
/// the PMU has an event named slots. Pure.
[[nodiscard]] bool is_slots(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus);
[[nodiscard]] bool is_topdown_metric(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus);
/// Slots, counted where the event is.
[[nodiscard]] perf_event_attr slots_beside(perf_event_attr attr) noexcept;

/// The CPUs on which an event can be opened: those of its core type, or the cpumask of an uncore PMU. Empty:
/// all. Pure.
[[nodiscard]] const std::vector<int>& cpus_of(const perf_event_attr& attr,
                                              const std::vector<host::Pmu>& pmus);

/// The event on each of the core PMUs given, named "PMU/EVENT/" after it. Pure.
[[nodiscard]] std::vector<Event> spread(const Event& event, const std::vector<const host::Pmu*>& cores);

} // namespace recount::event
