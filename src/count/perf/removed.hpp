// Counters that Linux removed from the command.
#pragma once

#include "base/process/fd.hpp"

#include <recount/reason.hpp>
#include <recount/sampling.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace recount::perf {

/// Linux removes the events of a task that gains privileges by execve(2), or whose program its user may not
/// read (begin_new_exec() in fs/exec.c: perf_event_exit_task() unless the process may be dumped). Their
/// enabled time then stops while the command continues to use processor time. `enabled`: of one counter,
/// summed over tasks. True also leaves room for the part of execve(2) that comes before they are enabled.
/// Pure.
[[nodiscard]] bool removed(std::chrono::nanoseconds enabled, std::chrono::nanoseconds used);
/// Why there is no count then.
[[nodiscard]] Reason removed_reason(std::chrono::nanoseconds enabled, std::chrono::nanoseconds used);

/// Whether Linux removes the events when this user executes a program, as execvp(3) finds it. False also
/// where only the processor time can tell: a file with capabilities.
[[nodiscard]] bool removed_at_exec(const std::string& program);

/// What is missing from the counts of a command and its descendants where the processor time alone is known,
/// which does not tell the cause; empty: nothing known. `switches`: context switches of all. Linux counts
/// neither them nor the beginning and the end of a task: tens of microseconds for each. Pure.
[[nodiscard]] std::string counted_in_part(std::chrono::nanoseconds enabled, std::chrono::nanoseconds used,
                                          std::uint64_t switches);

/// Programs whose execve(2) removed the events, observed in the records of a Sampling that follows. It is
/// recorded as a Name, and the removal as an End of the task right after it (perf_event_exit_task() in
/// kernel/events/core.c); a program that keeps its events maps its file first. Valid if no record was lost.
class Removals {
public:
  struct Program {
    std::uint32_t pid = 0;
    std::string name;   ///< as Linux shortens it, from outside
    bool first = false; ///< the process had not executed another one
  };
  void add(const Record& record);
  [[nodiscard]] const std::vector<Program>& programs() const noexcept { return programs_; }

private:
  std::map<std::uint32_t, Program> starting_; ///< by PID: nothing is mapped yet
  std::set<std::uint32_t> started_;           ///< processes that have executed a program
  std::vector<Program> programs_;
};

/// What is missing from the counts then; empty: nothing. `used`: 0: unknown. Pure.
[[nodiscard]] std::string removed_in_part(const Removals& removals, std::chrono::nanoseconds counted,
                                          std::chrono::nanoseconds used);

// Whether the descendants of a process have ended.

/// A dummy event inherited by all descendants of a process: poll(2) reports the end of the last task that
/// holds it. Movable.
class Descendants {
public:
  explicit Descendants(pid_t pid);
  Descendants(Descendants&& other) noexcept
      : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
  Descendants& operator=(Descendants&&) = delete;
  ~Descendants();
  /// Whether the process or a descendant still runs. False also if unknown: the event could not be opened, or
  /// Linux dropped it at an exec that gained privileges.
  [[nodiscard]] bool any() const;

private:
  process::Fd fd_;
  void* page_ = nullptr;
};

/// Note for descendants that outlive a command.
inline constexpr const char* outlived =
    "incomplete: child processes of the command were still running when it ended";

} // namespace recount::perf
