// An open kernel group: descriptors, the buffer it is read into, and whether it ever runs.
#pragma once

#include "perf/layout.hpp"
#include "perf/try_open.hpp"
#include "process/fd.hpp"

#include <recount/group.hpp>

#include <cstdint>
#include <vector>

namespace recount::perf {

/// Grows event by event, then counts. Always stopped between calls of add(). Not thread-safe.
class OpenGroup {
public:
  explicit OpenGroup(const GroupOptions& options, OpenCall call = open_call);

  /// What became of an event that was to join.
  struct Joined {
    enum class How {
      joined,
      refused,   ///< the kernel did not open it: `error`
      never_runs ///< it opened, but the group is never put on the PMU since; the event was closed again
    } how = How::joined;
    int error = 0;
    [[nodiscard]] bool ok() const { return how == How::joined; }
  };
  /// Opens the event as a sibling (the first: as leader). The leader is enabled meanwhile: next to a
  /// disabled one, drivers leave it out when they check whether all fit (armpmu's validate_group()), and a
  /// group one too large would open and then never run. Where the calling thread counts itself, or a CPU
  /// is counted, it is also waited for the group to run.
  Joined add(const Event& event);

  void start();
  void stop();
  void reset();
  const std::vector<Count>& read();

  /// What the kernel states, not since reset() but since opening. None: a pinned group without its counters.
  struct Total {
    bool counted = false;
    Times times;
  };
  Total read_total();
  [[nodiscard]] const std::vector<Raw>& raw() const noexcept { return now_; }

  [[nodiscard]] const std::vector<Event>& events() const noexcept { return events_; }
  [[nodiscard]] int fd(std::size_t i) const { return fds_.at(i).get(); }
  [[nodiscard]] const GroupOptions& options() const noexcept { return options_; }

private:
  [[nodiscard]] perf_event_attr prepared(const Event& event) const;
  void remember(process::Fd fd, const Event& event);
  void forget_last();
  [[nodiscard]] bool runs();
  void control(unsigned long request, const char* what);

  GroupOptions options_;
  OpenCall call_;
  std::vector<Event> events_;
  std::vector<process::Fd> fds_;
  std::vector<std::uint64_t> ids_, buffer_;
  std::uint64_t read_format_ = 0;
  Layout layout_;
  std::vector<Raw> now_, base_;
  Times base_times_;
  std::vector<Count> counts_;
  bool started_ = false;
};

} // namespace recount::perf
