// Published errata of performance counters, by CPU and event (data/errata.txt).
#pragma once

#include "base/host/machine.hpp"

#include <recount/event.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::errata {

struct Range {
  int low = 0, high = 0; ///< both included
};

/// An event of a core PMU on x86: event select, and unit mask unless every one is meant.
struct EventCode {
  std::uint64_t select = 0;
  std::optional<std::uint64_t> mask = {};
};

/// One row.
struct Erratum {
  std::string vendor; ///< as in host::Cpu, as are the next three
  int family = 0;
  std::vector<Range> models, steppings; ///< no steppings: all
  std::vector<std::string> pmus;        ///< libpfm4's names of these CPUs
  std::vector<EventCode> events;
  std::string number, what;
  std::string linux_since; ///< release that works around it; empty: none
  std::string source;

  /// "erratum SKL091: Intel names an erratum for this event (SOURCE)".
  [[nodiscard]] std::string sentence() const;
};

/// Reads the format that data/errata.txt explains.
[[nodiscard]] std::vector<Erratum> parse(std::string_view text);
/// Those built in.
[[nodiscard]] const std::vector<Erratum>& known();

/// Those of a CPU. Pure.
[[nodiscard]] std::vector<const Erratum*> of_cpu(const host::Cpu& cpu,
                                                 const std::vector<Erratum>& all = known());
/// Those of a CPU that concern an event: one of its core PMU, or a generic one that Linux maps to it. Pure.
[[nodiscard]] std::vector<const Erratum*> of_event(const Event& event, const host::Cpu& cpu,
                                                   const std::vector<Erratum>& all = known());

/// Those of the CPUs that libpfm4 names `pmu`, for an event as perf_event_attr encodes it. Pure.
[[nodiscard]] std::vector<const Erratum*> of_pmu(std::string_view pmu, std::uint32_t type,
                                                 std::uint64_t config,
                                                 const std::vector<Erratum>& all = known());

} // namespace recount::errata
