// The PMUs that this kernel has, as /sys/bus/event_source/devices lists them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::host {

/// An event that an event file describes (count/event/event_file.hpp).
struct Described {
  std::string name, terms; ///< "MEM_LOAD_RETIRED.L1_HIT", "event=0xd1,umask=0x1"
  std::string prose = {};
  std::string problem = {}; ///< why perf_event cannot count it; empty: it can
  bool deprecated = false;
};

/// One PMU. See perf_event_open(2), "The dynamic PMU", and Documentation/ABI/testing of Linux.
struct Pmu {
  std::string name;                           ///< "cpu", "software", "msr"
  std::uint32_t type = 0;                     ///< the value of perf_event_attr.type
  std::map<std::string, std::string> formats; ///< term -> bits: "event" -> "config:0-7,32-35"
  std::map<std::string, std::string> events;  ///< name -> terms: "tsc" -> "event=0x00"
  std::map<std::string, std::string> units;   ///< event name -> unit, where one is stated ("Joules")
  std::map<std::string, std::string> scales;  ///< event name -> factor to that unit
  std::map<std::string, std::string> caps;    ///< capability -> value: "max_precise" -> "3"
  std::map<std::string, Described> described; ///< by name in lower case; empty as read from sysfs
  std::vector<int> cpus;    ///< CPUs it belongs to (hybrid, uncore); empty: all or not stated
  std::vector<int> cpumask; ///< uncore: CPUs on which to open its events

  /// Counts what a core executes: "cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0" and their like.
  [[nodiscard]] bool core() const;
};

/// Every PMU, by name. Empty where sysfs is not mounted.
[[nodiscard]] std::vector<Pmu> pmus(const std::string& root = "/sys/bus/event_source/devices");

// Which CPU to measure on.

/// What speaks for a CPU.
struct Candidate {
  int cpu = 0;
  bool isolated = false; ///< kept free of other tasks (isolcpus)
  long capacity = 0;     ///< relative: the large cores of a hybrid CPU have more; 0: unknown
};

/// Isolated before others, then the largest capacity, then the highest number: interrupts and daemons prefer
/// CPU 0. -1 when there is none. Pure.
[[nodiscard]] int best_cpu(const std::vector<Candidate>& candidates);

/// The CPUs that are online, from sysfs; at least one.
[[nodiscard]] std::vector<int> online_cpus();
/// The CPUs that this process may run on, from sysfs.
[[nodiscard]] std::vector<Candidate> candidates();

/// The argument of --cpu: a number, "none" (nothing), or empty: the CPU that is least disturbed. Throws Error
/// (bad_input).
[[nodiscard]] std::optional<int> parse_cpu(const std::string& text);

/// Whether a PMU is one of several: its name is `stem`, an underline and digits. Pure.
[[nodiscard]] bool is_instance(std::string_view pmu, std::string_view stem);

} // namespace recount::host
