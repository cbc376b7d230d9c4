// The verdicts of recount check by machine, kept in a file, so that later counts can be marked with them.
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

/// What a verdict depends on. Another kernel, microcode or preset table can make it wrong.
struct Machine {
  std::string cpu;        ///< "GenuineIntel-6-94-3"
  std::string microcode;  ///< "0xf0"; empty: not stated
  std::string kernel;     ///< "Linux 6.1.0-18-amd64"
  std::string hypervisor; ///< "KVM"; empty: none seen
  std::string papi;       ///< "7.0.0.0"
  std::string table;      ///< hash of the preset tables that PAPI reads; empty: there are none
  bool operator==(const Machine&) const = default;
};
/// This machine, with the preset tables of the environment.
[[nodiscard]] Machine this_machine();

/// The verdict on one preset or event.
struct Entry {
  std::string name;         ///< "PAPI_L2_DCM"
  std::string verdict;      ///< as recount-check(1) lists them
  std::string mark;         ///< shown after a value: "dead on this machine"; empty: nothing is wrong
  std::string encoding;     ///< encoding_of() the event that the mark is true of as well; empty: none
  std::int64_t checked = 0; ///< seconds since 1970
};

/// All verdicts on one machine.
struct Record {
  Machine machine;
  std::vector<Entry> entries;
};
/// The latest record first.
using Records = std::vector<Record>;

/// Type and configuration of events, without their domains: "4:2e:0:0". Pure.
[[nodiscard]] std::string encoding_of(std::span<const Event> events);

/// recount-verdicts(5) as text, and back. parse() makes texts printable, and throws Error (bad_input) naming
/// `where`. Pure.
[[nodiscard]] std::string to_text(const Records& records);
[[nodiscard]] Records parse(std::string_view text, const std::string& where);

/// Replaces the entries of the same names on that machine, and puts its record first. Drops the oldest record
/// above the maximum. Pure.
void merge(Records& records, const Machine& machine, const std::vector<Entry>& entries);

/// The file: recount/verdicts.json in $XDG_STATE_HOME (default ~/.local/state); nothing without a home.
[[nodiscard]] std::optional<std::string> path();
/// What the file holds; nothing where there is none. Throws Error (bad_input) where it cannot be read.
[[nodiscard]] Records read();
/// Merges the entries into the file, which is replaced whole. A file that cannot be parsed is begun anew.
/// Throws Error (bad_input) where it cannot be written.
void keep(const Machine& machine, const std::vector<Entry>& entries);

/// The marks on one machine.
class Marks {
public:
  Marks() = default; ///< none
  explicit Marks(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  /// Those of this machine in the file. Throws as read().
  [[nodiscard]] static Marks here();

  /// The mark of a preset (with or without PAPI_) or event; empty: judged right, or not judged. `events`:
  /// what it counts, if it is an event.
  [[nodiscard]] std::string of(std::string_view name, std::span<const Event> events = {}) const;
  /// All marks by name.
  [[nodiscard]] std::map<std::string, std::string> by_name() const;
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

private:
  std::vector<Entry> entries_;
};

} // namespace recount::verdict
