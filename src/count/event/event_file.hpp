// Event files: the events of a CPU as its vendor describes them, in the JSON of Intel's perfmon, of AMD and
// of the pmu-events of perf(1).
#pragma once

#include "base/host/pmu.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::event {

/// An event of a file, and the PMU that its Unit names: "uncore_cha", as Linux calls it without a number.
/// Empty: a core PMU.
struct FileEvent {
  std::string pmu;
  host::Described event;
};

/// The events of a file: an array of objects, or an object that has one as "Events". What has no name is left
/// out (metrics), as are names of other characters than letters, digits, '_', '.' and '-'. Empty for other
/// JSON. The terms are those of perf's jevents.py, without the period; none for a reference to an event of
/// the Arm architecture. Throws Error (bad_input), naming `subject`, event, field and value. Pure.
[[nodiscard]] std::vector<FileEvent> parse_event_file(std::string_view text, const std::string& subject);

/// Adds events to their PMUs, later ones in place of earlier ones of the same name; an uncore event to every
/// instance of its PMU. `core`: the PMU of core events; where it is empty, the only core PMU. Throws Error
/// (bad_input) if there are several. Returns the events whose PMU is not there. Pure.
std::vector<FileEvent> add_events(std::vector<host::Pmu>& pmus, std::vector<FileEvent> events,
                                  const std::string& core, const std::string& subject);

/// "NAME=FILE" as name and file; the name is empty where a file is called so itself.
[[nodiscard]] std::pair<std::string, std::string> split_name(const std::string& given);
/// The files of a folder with this suffix, by name; of another path itself.
[[nodiscard]] std::vector<std::string> list_files(const std::string& path, std::string_view suffix = ".json");

/// Chooses event files, which are read after those of RECOUNT_EVENT_FILES (separated by colons): FILE,
/// PMU=FILE for core events of one core type, or a folder, of which all *.json are read. For one-time use at
/// the start of a command, before pmus() is called.
void use_event_files(const std::vector<std::string>& files);

/// Those that were chosen.
[[nodiscard]] const std::vector<std::string>& chosen_event_files();

/// Adds the events of the chosen files. Throws Error (bad_input) for a file that cannot be read or parsed, or
/// that has no events.
void add_chosen_files(std::vector<host::Pmu>& pmus);

/// The PMU that this machine lacks for an event of the chosen files; empty if no file has such an event.
[[nodiscard]] std::string absent_pmu(const std::string& name);

/// The event of a file, or without files an architectural event of an Intel core ("inst_retired.any"), by
/// name in any case; null: the PMU has none. Pure.
[[nodiscard]] const host::Described* described(const host::Pmu& pmu, std::string_view name);

} // namespace recount::event
