// Events: from a name to its encoding for perf_event_open(2).
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace recount {

/// The modes in which an event is counted: user mode, kernel, or both.
enum class Domain { user, kernel, all };

/// A countable event: its name and its encoding. A plain value; copies are independent.
struct Event {
  std::string name; ///< as requested, e.g. "perf::PAGE-FAULTS:u"
  std::string pmu;  ///< a libpfm4 PMU ("skl", "perf"), a sysfs PMU ("msr") or "breakpoint"
  /// Type, config* and exclude_* are set, size = sizeof; sampling and read formats are not. Later kernels
  /// append fields: the storage keeps the layout of Event independent of the kernel headers of program and
  /// library. Fields that the library's headers lack are not passed on.
  union {
    perf_event_attr attr{};
    std::array<std::uint64_t, 32> attr_storage;
  };
  bool domain_given = false; ///< the name has :u or :k
  bool present = true; ///< false: of another CPU's table, or of a PMU that this kernel lacks. Opening it
                       ///< is refused, because its code would mean another event here
};

static_assert(sizeof(Event::attr) <= sizeof(Event::attr_storage));

/// Encodes an event; needs neither hardware nor permission. Names, each followed by :u, :k, :uk or modifiers
/// of libpfm4, are
///  - libpfm4's, of any PMU it knows, present here or not: "skl::L1D:REPLACEMENT:u", "perf::PAGE-FAULTS",
///    and without "pmu::" those of the PMUs of this machine;
///  - sysfs terms, "PMU/term,term=value/": "msr/tsc/", "cpu/event=0x3c,umask=0x0/", with or without ":u";
///  - hardware breakpoints, "mem:ADDRESS[/LENGTH][:rwx]": length 1, 2, 4 (default) or 8 bytes, access rw
///    when none is given;
///  - names of perf(1) with its modifiers (recount-events(1)): "r1c0", "cpu/r1c0/", "slots", "energy-pkg",
///    "l1d-loads", "inst_retired.any", "sched:sched_switch", "imc/cas_count_read/";
///  - names of the vendor in event files (RECOUNT_EVENT_FILES), which are read once, at the first use, and
///    take precedence over libpfm4: "mem_load_retired.l1_hit". A file that cannot be read or parsed is an
///    Error (bad_input) of every call.
/// `fallback`: the domain if the name has none; PMUs without domains (msr, uncore) ignore it. A domain in the
/// name is always passed on. For a generic event of a hybrid CPU (perf::INSTRUCTIONS) see encode_each().
/// Absent PMUs are unknown in a program that has initialised PAPI or libpfm4 before. Throws Error (bad_input)
/// with the nearest known names.
/// Thread-safe.
[[nodiscard]] Event encode(const std::string& name, Domain fallback = Domain::all);

/// As encode(), but one event per core type on a hybrid CPU ("cpu_core/INSTRUCTIONS/",
/// "cpu_atom/INSTRUCTIONS/"), with the PMU's type in bits 63:32 of config (perf_event_open(2), Linux 5.13).
/// An uncore PMU with several instances (uncore_imc_0, uncore_imc_1), named without the number, gives one
/// event per instance, and "sched:*" one per tracepoint. Otherwise exactly one event, that of encode().
[[nodiscard]] std::vector<Event> encode_each(const std::string& name, Domain fallback = Domain::all);

/// The domain that the exclude_* fields of an event select.
[[nodiscard]] Domain domain(const Event& event) noexcept;

} // namespace recount
