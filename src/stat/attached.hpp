// The events of a plan, opened for a command, a running process or CPUs.
#pragma once

#include "stat/plan.hpp"

#include <recount/group.hpp>

#include <sys/types.h>
#include <vector>

namespace recount::stat {

/// Adds the counts of one thread or process to those of others.
void add(Count& sum, const Count& more);

/// Counts a process and its descendants, or CPUs. Not thread-safe.
class Attached {
public:
  enum class When {
    at_exec, ///< counting begins when the (held) process starts its program
    at_once  ///< counting begins at once, with the existing threads
  };
  /// Throws Error as Group does.
  Attached(const Plan& plan, pid_t pid, When when);
  /// Counts all that runs on the plan's CPUs, at once.
  explicit Attached(const Plan& plan);

  void stop();
  /// The counts so far, in the order of the plan's events, summed over threads; the times too.
  [[nodiscard]] std::vector<Count> read();

private:
  /// A group of the plan on one thread or CPU.
  struct Part {
    std::size_t group;
    Group counts;
  };
  void open(std::size_t group, const GroupOptions& options);
  bool attach(pid_t tid, const GroupOptions& options, bool start);

  const Plan& plan_;
  std::vector<Part> parts_;
};

} // namespace recount::stat
