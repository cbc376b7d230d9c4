// The event tables of libpfm4. The only place that knows the library's calls.
#pragma once

#include <recount/event.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recount::event::pfm {

/// Uses the libpfm4 of this file for all calls of count/event/pfm.hpp from now on. For one-time use at the
/// start of a command, before the first of these calls. Throws Error (bad_input) when it cannot be loaded.
void use_library(const std::string& path);
/// The same for a library that was built from sources: `version` and `source`, the folder, are for messages.
void use_built_library(const std::string& path, const std::string& version, const std::string& source);
/// Whether use_library() or use_built_library() chose the library.
[[nodiscard]] bool library_chosen();
/// "4.13.0", or "4.0" when the name of its file does not state more.
[[nodiscard]] std::string library_version();
/// The file or the sources of that library, with symbolic links resolved; empty when it is not known.
[[nodiscard]] std::string library_path();

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
  std::uint64_t code = 0;  ///< of a unit mask, as its PMU has it; 0 from a catalogue
};
/// One event of a table.
struct Entry {
  std::string name, prose, equivalent; ///< equivalent: the name that it is an alias of, or empty
  int index = 0;                       ///< libpfm4's own, for attributes()
  std::uint64_t code = 0;              ///< as its PMU has it; 0 from a catalogue
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
  std::string failure;      ///< the message of libpfm4 when not ok
  bool known = false;       ///< the failure is about a unit mask or modifier, the event itself is known
  bool unsupported = false; ///< libpfm4 has no perf encoding for this PMU on this machine
  perf_event_attr attr{};
  std::string pmu; ///< name of the table
  Table::Kind kind = Table::Kind::core;
  bool present = false;
};
/// pfm_get_os_event_encoding(3) for perf_event, with the code of Intel's lists where libpfm4 has one that
/// counts 0 or another event (Goldmont, Sapphire Rapids and newer; Alder Lake). Tables of absent x86 PMUs
/// encode as well. Thread-safe, as everything here: one lock for all, since the library has none.
[[nodiscard]] Encoded encode(const std::string& name, Domain domain);

} // namespace recount::event::pfm
