// Events in the terms of sysfs: "PMU/term,term=value/".
#pragma once

#include "base/host/pmu.hpp"

#include <recount/event.hpp>

#include <cstdint>
#include <linux/perf_event.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::event {

/// The PMUs of this kernel, read once. Thread-safe.
[[nodiscard]] const std::vector<host::Pmu>& pmus();

/// Whether a name is in this notation at all: a word, a slash, terms, a slash.
[[nodiscard]] bool in_sysfs_notation(const std::string& name);

/// Whether the PMU distinguishes user mode from kernel mode. Others (msr, uncore) reject every exclude_* bit
/// with EINVAL.
[[nodiscard]] bool separates_domains(const host::Pmu& pmu);

/// Encodes "PMU/terms/" or "PMU/terms/:u" over the given PMUs. A term is the name of an event of the PMU (a
/// file in events/), one of its formats with a value (1 when none is given), or config, config1, config2.
/// Later terms replace the bits of earlier ones. Throws Error (bad_input) with the nearest names. Pure.
[[nodiscard]] Event encode_sysfs(const std::string& name, Domain fallback,
                                 const std::vector<host::Pmu>& pmus);

/// An event of an event file by its bare name, "mem_load_retired.l1_hit", in the notation of sysfs: one name
/// for each PMU that has it. On a hybrid CPU also an architectural event, which libpfm4 has for one core type
/// alone. Empty: none has. Pure.
[[nodiscard]] std::vector<std::string> file_names(const std::string& name,
                                                  const std::vector<host::Pmu>& pmus);

/// An event that core PMUs have in sysfs, "slots", or an architectural event, in the notation of sysfs: one
/// name for each core type that has it. If no core has, for each other PMU: "energy-pkg". Empty: none has.
/// Pure.
[[nodiscard]] std::vector<std::string> sysfs_names(const std::string& name,
                                                   const std::vector<host::Pmu>& pmus);

/// A tracepoint, "sched:sched_switch", or all that match a glob, "sched:*", by their numbers in tracefs;
/// nothing where it has none or may not be read. `roots`: where tracefs may be mounted.
[[nodiscard]] std::vector<Event> tracepoints(const std::string& name, Domain fallback,
                                             const std::vector<std::string>& roots = {
                                                 "/sys/kernel/tracing", "/sys/kernel/debug/tracing"});

// The format files of sysfs: which bits of perf_event_attr a term fills.

/// Bits of one configuration word, e.g. "config:0-7,32-35": the low 8 bits of a value, then the next 4.
struct Format {
  struct Range {
    unsigned first, last; ///< bits, inclusive
  };
  unsigned word = 0; ///< 0: config, 1: config1, 2: config2
  std::vector<Range> ranges;
  [[nodiscard]] unsigned width() const; ///< bits in all
};

/// Parses a format file (Documentation/ABI/testing/sysfs-bus-event_source-devices-format of Linux). `subject`
/// names the term in errors. Throws Error: bad_input when malformed, unavailable for a word that the
/// perf_event_attr of this build does not have. Pure.
[[nodiscard]] Format parse_format(std::string_view text, const std::string& subject);

/// Stores a value in its bits. Throws Error (bad_input) when it has too many bits.
void store(const Format& format, std::uint64_t value, perf_event_attr& attr, const std::string& subject);

/// The config of an event of type HW_CACHE by the names that perf(1) takes, in any case: a cache, then an
/// operation and a result in either order, "L1-dcache-load-misses", "l1d-loads", "LLC", "btb-miss". Nothing:
/// it is none, or the cache has no such operation (perf-list(1)). Pure.
[[nodiscard]] std::optional<std::uint64_t> hardware_cache(std::string_view name);

// CPUs with several core types, each a PMU of its own.

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
/// Slots, on the PMU of this event.
[[nodiscard]] perf_event_attr slots_event(perf_event_attr attr) noexcept;

/// The CPUs on which an event can be opened: those of its core type, or the cpumask of an uncore PMU. Empty:
/// all. Pure.
[[nodiscard]] const std::vector<int>& cpus_of(const perf_event_attr& attr,
                                              const std::vector<host::Pmu>& pmus);

/// The event on each of these core PMUs, named "PMU/EVENT/". Pure.
[[nodiscard]] std::vector<Event> on_each_core(const Event& event, const std::vector<const host::Pmu*>& cores);

} // namespace recount::event
