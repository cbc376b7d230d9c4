// Encoding for a given set of PMUs, independent of this machine.
#pragma once

#include "base/host/pmu.hpp"

#include <recount/event.hpp>

#include <optional>
#include <string>
#include <string_view>
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

/// The place of an event among others by its attr; where it is not there, it is appended. Pure.
[[nodiscard]] std::size_t place_among(std::vector<Event>& events, const Event& event);

// Hardware breakpoints as events: "mem:ADDRESS[/LENGTH][:rwx]".

/// An event of this type and config in the domain that its name gives, else in `fallback`. Pure.
[[nodiscard]] Event make_event(const std::string& name, const char* pmu, std::uint32_t type,
                               std::uint64_t config, std::optional<Domain> given, Domain fallback);

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
/// them; also "imc/...", and a glob, "uncore_imc*/...". Empty where a PMU has the name itself, or none
/// matches. Pure.
[[nodiscard]] std::vector<std::string> instances(const std::string& name, const std::vector<host::Pmu>& pmus);

// User and kernel: the domain in an event name, and its bits in attr.

/// Letters after the last colon (or slash) of a name, as perf-list(1) defines them.
struct Modifiers {
  std::string name;        ///< without them, with the letters of a domain
  unsigned precise = 0;    ///< as many as p; P, the maximum of the PMU: 3, which is lowered when sampling
  bool guest = false;      ///< G: only guests
  bool host = false;       ///< H: only the host
  bool hypervisor = false; ///< h
  bool not_idle = false;   ///< I
  bool pinned = false;     ///< D: always on the PMU, or in error
  bool exclusive = false;  ///< e: no other group on the PMU meanwhile
  bool of_groups = false;  ///< S, W: nothing for a single event
  bool domain = false;     ///< the name has u or k
  [[nodiscard]] bool any() const {
    return precise > 0 || guest || host || hypervisor || not_idle || pinned || exclusive || of_groups;
  }
};
/// Splits a name; any() is false where its end is something else, such as a unit mask. Pure.
[[nodiscard]] Modifiers split_modifiers(const std::string& name);
/// Sets precise_ip, exclude_hv, exclude_idle, exclude_host, exclude_guest, pinned and exclusive. Pure.
void apply(const Modifiers& modifiers, perf_event_attr& attr);

/// A software event that libpfm4 lacks: "dummy", "bpf-output", "alignment-faults", "emulation-faults". Pure.
[[nodiscard]] std::optional<Event> software_event(const std::string& name, Domain fallback);

/// A raw code of a core PMU, "r1c0" or "r1c0:u", for CPUs that libpfm4 does not know. Pure.
[[nodiscard]] std::optional<Event> raw_event(const std::string& name, Domain fallback);

/// The domain of modifier letters: "u", "k", "uk" or "ku"; none for anything else.
[[nodiscard]] std::optional<Domain> parse_domain(std::string_view letters);

/// A name without the domain at its end.
struct Split {
  std::string_view name;
  std::optional<Domain> domain;
};
/// Removes ":u", ":k" or ":uk" from the end of a name. Pure; views into `name`.
[[nodiscard]] Split split_domain(std::string_view name);

/// Sets exclude_user, exclude_kernel and exclude_hv, as PAPI does for the same domain.
void apply(Domain domain, perf_event_attr& attr);

/// The name as libpfm4 wants it ("x:uk" becomes "x:u:k"), and whether it has a domain.
struct Modified {
  std::string name;
  bool domain_given = false;
  bool hypervisor = false; ///< it has h
};
[[nodiscard]] Modified for_libpfm(std::string_view name);

} // namespace recount::event
