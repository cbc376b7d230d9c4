// The events of a plan, opened for a command or a running process.
#pragma once

#include "stat/plan.hpp"

#include <recount/group.hpp>

#include <sys/types.h>
#include <vector>

namespace recount::stat {

/// Adds the counts of one thread or process to those of others.
void add(Count& sum, const Count& more);

/// Counts a process and its descendants. Not thread-safe.
class Attached {
public:
  enum class When {
    at_exec, ///< counting begins when the (held) process starts its program
    at_once  ///< counting begins at once, with the existing threads
  };
  /// Throws Error as Group does.
  Attached(const Plan& plan, pid_t pid, When when);

  void stop();
  /// The counts so far, in the order of the plan's events, summed over threads; the times too.
  [[nodiscard]] std::vector<Count> read();
  [[nodiscard]] std::size_t threads() const noexcept { return threads_.size(); }

private:
  bool attach(pid_t tid, const GroupOptions& options);

  const Plan& plan_;
  std::vector<std::vector<Group>> threads_; ///< of each thread, parallel to Plan::groups
};

} // namespace recount::stat
