// The event tables of libpfm4. The only place that knows the library's calls.
#pragma once

#include <recount/event.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace recount::event::pfm {

/// Uses the libpfm4 of this file for all calls of event/pfm.hpp from now on. For one-time use at the start of
/// a command, before the first of these calls. Throws Error (bad_input) when it cannot be loaded.
void use_library(const std::string& path);
/// "4.13.0", or "4" when the name of its file does not state more.
[[nodiscard]] std::string library_version();

/// One table: a PMU that libpfm4 knows, of whatever machine.
struct Table {
  int id = 0;
  std::string name, prose; ///< "skl", "Intel Skylake"
  bool present = false;    ///< the CPUID (or the kernel) matches. It does not mean that Linux can count it.
  enum class Kind { core, uncore, system } kind = Kind::core; ///< system: perf's own generic events
  std::size_t events = 0;
  int counters = 0, fixed_counters = 0; ///< of each core, as libpfm4 states them
};
/// A value of an event's unit mask, or a modifier: what may follow the event's name after a colon.
struct Attribute {
  std::string name, prose;
  bool modifier = false;   ///< takes a value ("c=2"), else a unit mask
  bool is_default = false; ///< used when no unit mask is given
};
/// One event of a table.
struct Entry {
  std::string name, prose, equivalent; ///< equivalent: the name that it is an alias of, or empty
  int index = 0;                       ///< libpfm4's own, for attributes()
};

/// For a program that calls PAPI from one thread only, at its start: libpfm4 may be ended and initialised
/// anew where PAPI has initialised it without the tables of absent PMUs. Otherwise absent PMUs are then
/// unknown.
void allow_restart() noexcept;

[[nodiscard]] std::vector<Table> tables();
/// The events of a table in its own order; nothing for an unknown id.
[[nodiscard]] std::vector<Entry> entries(const Table& table);
[[nodiscard]] std::vector<Attribute> attributes(const Entry& entry);

/// What encoding a name gave.
struct Encoded {
  bool ok = false;
  std::string failure; ///< the message of libpfm4 when not ok
  bool known = false;  ///< the failure is about a unit mask or modifier, the event itself is known
  perf_event_attr attr{};
  std::string pmu; ///< name of the table
  Table::Kind kind = Table::Kind::core;
  bool present = false;
};
/// pfm_get_os_event_encoding(3) for perf_event, with the architectural code where libpfm4 has one that counts
/// 0 (events of fixed counters of Sapphire Rapids and Goldmont). Tables of absent x86 PMUs encode as well.
/// Thread-safe, as everything here: one lock for all, since the library has none.
[[nodiscard]] Encoded encode(const std::string& name, Domain domain);

} // namespace recount::event::pfm
