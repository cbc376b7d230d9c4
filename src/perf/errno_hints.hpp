// From an errno of perf_event_open(2) and its companions to what the user can do about it.
#pragma once

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <span>
#include <string>
#include <vector>

namespace recount::perf {

/// Which call failed.
enum class Stage { open, map, read, control };

/// What is known when a call fails.
struct Situation {
  Stage stage = Stage::open;
  const Event& event;
  GroupOptions options = {};
  std::vector<std::string> beside = {}; ///< names of the events already in the group
  bool alone_opens = false;             ///< the same event opens by itself
  bool core_pmu = true;                 ///< sysfs has a core PMU
};

/// A setting whose value stands in the message, read when the error is made.
enum class Setting {
  none,
  paranoid,
  mlock,
  files,
  all_files,
  pmus,
  watchdog,
  breakpoints,
  frequency,
  stack,
  cpus,
  confinement
};
[[nodiscard]] std::string show(Setting setting);

/// The cause that holds for each event of the core PMU alike; the errno's name follows.
inline constexpr const char* no_core_pmu =
    "this kernel has no core PMU: a virtual machine without one, or a CPU unknown to Linux";

/// One row: the first whose number, stage and condition fit is the answer. In `cause` and `remedy`, {event},
/// {pmu}, {beside}, {cpu} and {pid} are filled in.
struct Hint {
  int number;
  Stage stage;
  bool (*when)(const Situation&); ///< nullptr: always
  ErrorKind kind;
  const char* cause;
  Setting setting;
  const char* remedy;
};
/// All rows, in order of precedence. Every errno that perf_event_open(2) documents for counting has one
/// without condition.
[[nodiscard]] std::span<const Hint> hints();

/// The whole message: event, cause with the errno's name, setting and value, remedy. An errno that no row
/// knows gives the system's own words.
[[nodiscard]] Error hint(const Situation& situation, int error);

/// For an event that could not be opened; finds out about the core PMU, and whether it opens alone when
/// there are others beside it.
[[nodiscard]] Error open_error(const Event& event, int error, const GroupOptions& options = {},
                               std::vector<std::string> beside = {});
/// For a later call on an open event; `call` names it ("mmap").
[[nodiscard]] Error call_error(Stage stage, const Event& event, int error, const std::string& call);

/// For an event with which a group, or which alone when `beside` is empty, opens but is never put on the PMU.
[[nodiscard]] Error never_runs_error(const Event& event, const std::vector<std::string>& beside);

/// For an event that is not of this machine (Event::present).
[[nodiscard]] Error absent_error(const Event& event);

} // namespace recount::perf
