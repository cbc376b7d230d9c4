// Counting: groups of events that are on the PMU together, and any number of events over several groups.
//
// For all classes of the library that open events:
//  - fork(2): a child does not count with its parent's objects. start() throws, stop() and reset() do
//    nothing, reads have no value and give the reason; destroying its copies leaves the parent's events
//    alone. The child may open its own; if its parent had several threads, only after execve(2)
//    (signal-safety(7)).
//  - pthread_cancel(3), deferred: a thread may be cancelled while it reads or opens, and is then unwound.
//    Destructors, Region and the C interface postpone the cancellation.
//  - Signals: no function is async-signal-safe unless it says so.
//  - Descriptors: one per event, thread and CPU. Where they run out (EMFILE) the soft limit RLIMIT_NOFILE of
//    the process is raised to the hard limit and remains there, also for programs that it starts later. A
//    program that must not exceed its soft limit (select(2) takes no descriptor over 1023) sets the hard
//    limit to it.
#pragma once

#include <recount/count.hpp>
#include <recount/event.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount {

/// What is counted, and how (perf_event_open(2)).
struct GroupOptions {
  /// 0: the calling thread; > 0: the thread with this id, and no other of its process (the id of a process is
  /// that of its first thread), unless `process` is set; -1: everything on `cpu`.
  pid_t pid = 0;
  int cpu = -1;                ///< -1: wherever the thread runs; otherwise only on that CPU
  bool inherit = false;        ///< also threads and processes that the target starts from now on
  bool pinned = false;         ///< always on the PMU or not at all: never multiplexed
  bool exclusive = false;      ///< alone on the PMU
  bool enable_on_exec = false; ///< starts by itself when the target calls execve(2)
  /// All threads of process `pid` (0: this one), and threads and processes that they start from now on. Each
  /// thread has events of its own, whose counts and times are added up: share() is that over all threads.
  bool process = false;
  /// Everything on all CPUs that are online now and that the PMU of the event counts, added up in the same
  /// way.
  bool all_cpus = false;
  /// Of that, or of what runs on `cpu`, only threads in this cgroup and those below it: a descriptor of its
  /// folder, which must remain open until the events are. -1: of any. `pid` is then ignored.
  int cgroup = -1;
};

/// One kernel group: counted together or not at all, so that ratios between its events hold.
/// Counts from its first start(); start(), stop(), reset() and read() make one system call each (a read of
/// hardware events of the calling thread none, where Linux lets user space read the registers; x86 only, see
/// UserRead for arm64) and allocate nothing (a reason for a missing value excepted); reset() makes none where
/// nothing has run since the last read(). With GroupOptions::process or all_cpus these are for each thread or
/// CPU. Movable. One thread at a time may use an object.
class Group {
public:
  /// Opens the events, stopped, the first as leader. Throws Error naming the event, the errno, the setting
  /// concerned and the fix; also when the events cannot be on the PMU at the same time, which is tried
  /// out where the calling thread counts itself: such a group would otherwise read as zero.
  explicit Group(std::vector<Event> events, const GroupOptions& options = {});
  /// As above, names encoded with `domain` where they give none.
  explicit Group(const std::vector<std::string>& names, Domain domain = Domain::all,
                 const GroupOptions& options = {});
  Group(std::initializer_list<const char*> names, Domain domain = Domain::all,
        const GroupOptions& options = {});
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;
  ~Group();

  void start(); ///< continues from where it stopped
  void stop();
  void reset(); ///< values and times count from here; running or not
  /// Values since construction or reset(), in the order of the events; valid until the next read(). A
  /// group that was enabled but never ran has no values, and the reason is given.
  const std::vector<Count>& read();
  /// As read(), and the next values count from here: intervals follow one another without a gap, at the cost
  /// of one read().
  const std::vector<Count>& read_and_reset();

  [[nodiscard]] const std::vector<Event>& events() const noexcept;
  /// Descriptor of the i-th event, the leader's first; owned by the group. For mmap(2) and ioctl(2). Of the
  /// first thread or CPU where there are several.
  [[nodiscard]] int fd(std::size_t i = 0) const;

private:
  struct Targets;
  std::unique_ptr<Targets> targets_;
};

/// Any number of events, in as few kernel groups as they fit in. Several groups are multiplexed when counters
/// are short: each Count then has the time for which it ran (see scale()).
/// Same costs as Group, once for each group.
///
///     recount::Counters counters({"perf::PAGE-FAULTS", "perf::TASK-CLOCK"});
///     counters.start();
///     work();
///     counters.stop();
///     for (const recount::Count& count : counters.read())
///       if (const auto value = recount::scale(count)) fmt::print("{}\n", *value);
///
/// Movable. One thread at a time may use an object.
class Counters {
public:
  /// Throws Error when an event cannot be opened even alone. Not fitting in one group is no error.
  explicit Counters(std::vector<Event> events, const GroupOptions& options = {});
  /// As above, names encoded with `domain` where they give none; on a hybrid CPU a generic event becomes
  /// one event for each core type that has it (see events() and sum_of_core_types()); notes() names the
  /// others.
  explicit Counters(const std::vector<std::string>& names, Domain domain = Domain::all,
                    const GroupOptions& options = {});
  Counters(std::initializer_list<const char*> names, Domain domain = Domain::all,
           const GroupOptions& options = {});
  Counters(Counters&&) noexcept;
  Counters& operator=(Counters&&) noexcept;
  ~Counters();

  void start();
  void stop();
  void reset();
  const std::vector<Count>& read(); ///< in the order of events(); valid until the next read()
  /// As read(), and the next values count from here: each group's intervals follow one another without a gap.
  const std::vector<Count>& read_and_reset();

  [[nodiscard]] const std::vector<Event>& events() const noexcept;
  /// The groups, each the indices of its events: more than one means that they did not fit together.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& groups() const noexcept;
  /// Why there is more than one group, one line for each further group ("X does not fit with Y, Z: ..."), and
  /// which core types cannot count an event. Core types never share a group, which is not noted.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept;

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

} // namespace recount
