// The file with the verdicts of recount check, by machine. Other commands mark counts with them.
#pragma once

#include <recount/event.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::verdict {

/// What verdicts depend on: they are invalid with another kernel, microcode or preset table.
struct MachineKey {
  std::string cpu;        ///< "GenuineIntel-6-94-3"
  std::string microcode;  ///< "0xf0"; empty: unknown
  std::string kernel;     ///< "Linux 6.1.0-18-amd64"
  std::string hypervisor; ///< "KVM"; empty: none detected
  std::string papi;       ///< "7.0.0.0"
  std::string table;      ///< hash of the preset tables that PAPI reads; empty: there are none
  bool operator==(const MachineKey&) const = default;
};
/// The key of this machine and of the preset tables in the environment.
[[nodiscard]] MachineKey this_machine_key();

/// The verdict on one preset or event.
struct Entry {
  std::string name;     ///< "PAPI_L2_DCM"
  std::string verdict;  ///< as recount-check(1) lists them
  std::string mark;     ///< shown after a value: "dead on this machine"; empty: none
  std::string encoding; ///< format_encoding() the event, whose other names have the same mark; empty: none
  std::int64_t checked = 0; ///< seconds since 1970
};

/// All verdicts on one machine.
struct Record {
  MachineKey machine;
  std::vector<Entry> entries;
};
/// Latest first.
using Records = std::vector<Record>;

/// Type and configuration of events, without their domains: "4:2e:0:0". Pure.
[[nodiscard]] std::string format_encoding(std::span<const Event> events);

/// Writes and reads recount-verdicts(5). parse() makes strings printable and throws Error (bad_input) with
/// `where` as subject. Pure.
[[nodiscard]] std::string to_text(const Records& records);
[[nodiscard]] Records parse(std::string_view text, const std::string& where);

/// Adds entries of a machine, replacing those of the same names, and moves its record to the front. Drops the
/// oldest record and entries if there are too many, and cuts or drops what parse() would not accept. Pure.
void merge(Records& records, const MachineKey& of, const std::vector<Entry>& entries);

/// recount/verdicts.json in $XDG_STATE_HOME (default ~/.local/state); nothing without a home directory.
[[nodiscard]] std::optional<std::string> path();
/// The records in the file; none if there is no file. Throws Error (bad_input) if it cannot be read.
[[nodiscard]] Records read();
/// Merges the entries into the file and replaces it atomically. A file that cannot be parsed is overwritten.
/// Throws Error (bad_input) if it cannot be written.
void store(const MachineKey& machine, const std::vector<Entry>& entries);

/// The marks on one machine.
class Marks {
public:
  Marks() = default; ///< none
  explicit Marks(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  /// The marks of this machine in the file. Throws as read().
  [[nodiscard]] static Marks of_this_machine();

  /// The mark of a preset (with or without PAPI_) or event; empty: correct, or without verdict. `events`: its
  /// encodings, if it is an event.
  [[nodiscard]] std::string find(std::string_view name, std::span<const Event> events = {}) const;
  /// All marks by name.
  [[nodiscard]] std::map<std::string, std::string> by_name() const;
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

private:
  std::vector<Entry> entries_;
};

} // namespace recount::verdict
