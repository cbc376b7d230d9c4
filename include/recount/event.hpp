// Events: from a name to what perf_event_open(2) takes.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace recount {

/// Where an event is counted: in user mode, in the kernel, or in both.
enum class Domain { user, kernel, all };

/// A countable event: its name and its encoding. A plain value; copies are independent.
struct Event {
  std::string name; ///< as it was asked for, e.g. "perf::PAGE-FAULTS:u"
  std::string pmu;  ///< who counts it: a libpfm4 PMU ("skl", "perf"), a sysfs PMU ("msr") or "breakpoint"
  /// Type, config* and exclude_* set, size = sizeof; nothing about sampling or reading. Later kernels append
  /// fields: the rest of the storage keeps the layout of Event the same for programs that are compiled with
  /// other headers than the library. Fields that the library's headers lack are not passed on.
  union {
    perf_event_attr attr{};
    std::array<std::uint64_t, 32> attr_storage;
  };
  bool domain_given = false; ///< the name itself said :u or :k, so the fallback was not used
  bool present = true;       ///< false: of another CPU's table, or of a PMU that this kernel has not; it only
                             ///< encodes, and opening it is refused (its code would mean something else here)
};

static_assert(sizeof(Event::attr) <= sizeof(Event::attr_storage));

/// Encodes an event. Names are
///  - libpfm4's, of any PMU it knows, present here or not: "skl::L1D:REPLACEMENT:u", "perf::PAGE-FAULTS",
///    and without "pmu::" those of the PMUs of this machine;
///  - sysfs terms, "PMU/term,term=value/": "msr/tsc/", "cpu/event=0x3c,umask=0x0/", with or without ":u";
///  - hardware breakpoints, "mem:ADDRESS[/LENGTH][:rwx]": length 1, 2, 4 (default) or 8 bytes, access rw
///    when none is given;
/// each followed by :u, :k or :uk, or by the modifiers of libpfm4.
/// `fallback` is the domain where the name gives none. PMUs that cannot tell domains apart (msr, uncore)
/// ignore it; a domain in the name is always passed on. On a hybrid CPU a generic event such as
/// perf::INSTRUCTIONS counts on each kind of core apart: see encode_each().
/// Names of perf(1) are known as well: "r1c0", "cpu/r1c0/", "slots", "INST_RETIRED.ANY",
/// "sched:sched_switch"; and its modifiers :p, :pp, :ppp and :P (precise_ip; lowered to what the PMU offers
/// when sampling), :G and :H. PMUs that are not present are unknown in a program that has initialised PAPI or
/// libpfm4 itself before. Encoding needs no hardware and no permission: whether the event can be opened here
/// is another question. Throws Error (bad_input) naming the nearest known names. Thread-safe.
[[nodiscard]] Event encode(const std::string& name, Domain fallback = Domain::all);

/// As encode(), but one event for each kind of core on a hybrid CPU ("cpu_core/INSTRUCTIONS/",
/// "cpu_atom/INSTRUCTIONS/"), with the PMU's type in bits 63:32 of config (perf_event_open(2), Linux 5.13).
/// Of an uncore PMU that is there several times (uncore_imc_0, uncore_imc_1) the name without the number is
/// the event of each. Elsewhere exactly one event, that of encode().
[[nodiscard]] std::vector<Event> encode_each(const std::string& name, Domain fallback = Domain::all);

/// The domain that an event's attr states.
[[nodiscard]] Domain domain(const Event& event) noexcept;

} // namespace recount
