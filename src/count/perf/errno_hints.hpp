// Maps errors of perf_event_open(2) and related calls to causes and fixes.
#pragma once

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::perf {

/// The failed operation.
enum class Operation { open, map, read, control };

/// Context of a failed call.
struct Situation {
  Operation operation = Operation::open;
  const Event& event;
  GroupOptions options = {};
  std::vector<std::string> others = {};   ///< names of the events already in the group
  bool alone_opens = false;               ///< the same event opens by itself
  bool core_pmu = true;                   ///< sysfs has a core PMU
  bool uncore = false;                    ///< the PMU of the event states a cpumask
  std::optional<long long> paranoid = {}; ///< kernel.perf_event_paranoid, where it is known
};

/// "kernel.perf_event_paranoid = 2 (own processes, user mode only, without CAP_PERFMON)".
[[nodiscard]] std::string paranoid_setting();

/// The common cause for all events of the core PMU; the name of the errno follows.
inline constexpr const char* no_core_pmu =
    "this kernel has no core PMU: a virtual machine without one, or a CPU unknown to Linux";

/// The fix where events do not fit into one event group.
inline constexpr const char* fix_of_group = "count it in another event group";

/// One row: the first whose number, operation and condition match is used. In `cause` and `fix`, {event},
/// {pmu}, {others}, {cpu} and {pid} are replaced.
struct Hint {
  int number; ///< errno
  Operation operation;
  bool (*when)(const Situation&); ///< nullptr: always
  ErrorKind kind;
  const char* cause;
  std::string (*setting)(); ///< its name and value now; nullptr: none is concerned
  const char* fix;
};
/// All rows, in order of precedence. Every errno that perf_event_open(2) documents, and that the calls of
/// this library can cause, has one without condition.
[[nodiscard]] std::span<const Hint> hints();

/// The whole message: event, cause with the errno's name, setting and value, fix. An errno without
/// a row uses strerror(3).
[[nodiscard]] Error hint(const Situation& situation, int error);

/// For an event that could not be opened; checks for a core PMU and, in a group, whether it opens alone.
[[nodiscard]] Error open_error(const Event& event, int error, const GroupOptions& options = {},
                               std::vector<std::string> others = {});
/// For a later call on an open event; `call` names it ("mmap").
[[nodiscard]] Error call_error(Operation operation, const Event& event, int error, const std::string& call);

/// For an event that opens, alone or in a group with `others`, but is never scheduled.
[[nodiscard]] Error never_runs_error(const Event& event, const std::vector<std::string>& others);

/// For an event of another machine (Event::present).
[[nodiscard]] Error absent_error(const Event& event);

} // namespace recount::perf
