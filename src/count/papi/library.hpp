// PAPI's start: threads, private tables, and the child that tries them first.
#pragma once

#include "base/process/child.hpp"

#include <recount/error.hpp>

#include <functional>
#include <recount/papi.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace recount::papi {

/// A table file that the environment hands to PAPI.
struct Table {
  std::string variable; ///< "PAPI_CSV_EVENT_FILE" or "PAPI_USER_EVENTS_FILE"
  std::string path;
};
/// Those that are set and not empty.
[[nodiscard]] std::vector<Table> private_tables();

/// Throws Error (bad_input) for a private table that cannot be read. PAPI itself goes on silently with
/// another file, or with none, and overwrites the variable's text.
void require_readable_tables();

/// Lets a forked child start PAPI with the private tables and describe all presets. Throws Error: bad_input
/// for a table that cannot be read, crashed() for one that PAPI does not survive.
void require_harmless_tables();

/// As initialise(), but in this very process at once: for a forked child that may crash.
void initialise_unguarded();

/// The CPU's nominal frequency in MHz as PAPI states it, which DERIVED_PS and `#` multiply by. Initialises
/// PAPI.
[[nodiscard]] int max_mhz();

/// How often recount has initialised PAPI: more than once after the program's own PAPI_shutdown(), which
/// invalidates all event sets.
[[nodiscard]] unsigned current_start() noexcept;

/// Makes this thread known to PAPI until it ends.
void register_thread();

/// Runs `body` in a forked child and throws Error (unavailable) naming the private tables when a signal or a
/// hang ended it. Its result and its exceptions are ignored. `doing` completes "PAPI does
/// not survive ..."; the last line that the child wrote to `fd`, if any, is added as the place.
void survive(const std::function<void(int fd)>& body, const std::string& doing);
/// Why a trial child has no answer: ReasonCode::crash where a signal ended it. One that was stopped at its
/// limit says nothing about PAPI: ReasonCode::interrupted. Pure.
[[nodiscard]] Reason unanswered(const std::string& doing, const process::Exit& exit);
/// The Error of survive(), with that reason and the private tables.
[[nodiscard]] Error crashed(const std::string& doing, const process::Exit& exit);

// What the forked children of inventory() find out, and how it comes back.

/// In a child: describes components and presets on `fd`, as JSON.
void write_claims(int fd);
/// In a child: tries each preset; its name before and the reason as JSON after, a line each, so that the
/// parent knows which one ended the child.
void write_trials(int fd, const std::vector<std::string>& presets);

/// The other ends. Pure.
[[nodiscard]] Inventory parse_claims(std::string_view text);
/// Fills in `counts` and `reason` of the presets that `text` reports. Returns the preset that was being
/// tried when the text ended, if any.
[[nodiscard]] std::string parse_trials(std::string_view text, std::vector<Preset>& presets);

} // namespace recount::papi
