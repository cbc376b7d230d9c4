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

/// The event on each of the core PMUs given, named "PMU/EVENT/" after it. Pure.
[[nodiscard]] std::vector<Event> spread(const Event& event, const std::vector<const host::Pmu*>& cores);

} // namespace recount::event
