// An open kernel group: descriptors, read buffer, and whether it is scheduled.
#pragma once

#include "host/pmu.hpp"
#include "perf/layout.hpp"
#include "perf/owner.hpp"
#include "perf/try_open.hpp"
#include "process/fd.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace recount::perf {

/// Grows event by event, then counts. Always stopped between calls of add(). In a forked child start()
/// throws, stop() and reset() do nothing, and read() gives no values. Not thread-safe.
class OpenGroup {
public:
  explicit OpenGroup(const GroupOptions& options, OpenCall call = open_call);

  /// Result of adding an event.
  struct Joined {
    enum class How {
      joined,
      refused,   ///< the kernel did not open it: `error`
      never_runs ///< it opened, but the group was then never scheduled; the event was closed again
    } how = How::joined;
    int error = 0;
    [[nodiscard]] bool ok() const { return how == How::joined; }
  };
  /// Opens the event as a sibling (the first: as leader). The leader is enabled meanwhile: next to a
  /// disabled one, drivers ignore it when they check whether all events fit (armpmu's validate_group()), and
  /// a group that is too large would open but never be scheduled. Where the calling thread counts itself, or
  /// a CPU is counted, it also waits until the group is scheduled. A top-down metric that comes first gets
  /// slots as its leader, which is not among the events.
  Joined add(const Event& event);
  /// As add(), but throws Error where the event does not join.
  void join(const Event& event);

  void start();
  void stop();
  void reset();
  const std::vector<Count>& read();
  const std::vector<Count>& read_and_reset();

  /// Kernel counts since opening, not since reset().
  struct Total {
    std::uint64_t value = 0, enabled_ns = 0, running_ns = 0;
  };
  /// Reads the counts of all events. False: a pinned group without its counters, or a forked child.
  [[nodiscard]] bool refresh();
  /// Of the i-th event at the last refresh().
  [[nodiscard]] Total total(std::size_t i) const noexcept {
    return {now_[layout_.value(i + led_)], now_[layout_.enabled()], now_[layout_.running()]};
  }

  [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
  [[nodiscard]] const std::vector<Event>& events() const noexcept { return events_; }
  /// The core type of its events on a hybrid CPU; null elsewhere and for events of no core type.
  [[nodiscard]] const host::Pmu* core() const noexcept { return core_; }
  [[nodiscard]] int fd(std::size_t i) const {
    require_index("event of a group", i, events_.size());
    return fds_[i + led_].get();
  }
  /// As fd(), for callers that start and stop the events through it.
  [[nodiscard]] int lend(std::size_t i) {
    lent_ = true;
    settled_ = false;
    return fd(i);
  }
  [[nodiscard]] const GroupOptions& options() const noexcept { return options_; }

private:
  [[nodiscard]] perf_event_attr prepared(const Event& event) const;
  void lead_by_slots(const Event& metric);
  void remember(process::Fd fd);
  void forget_last();
  void resize();
  [[nodiscard]] std::optional<Total> read_total(); ///< of the leader
  [[nodiscard]] bool runs();
  void control(unsigned long request, const char* what);
  /// Reads into now_. False at the end of the file: a pinned group in error (perf_event_open(2)).
  [[nodiscard]] inline bool fetch();
  [[nodiscard]] bool fetched(ssize_t got);
  inline void deliver(bool counted);
  void deliver_reason(const char* reason, std::uint64_t enabled, std::uint64_t running);
  void count_from_now() noexcept;
  void enable();
  void disable();

  GroupOptions options_;
  OpenCall call_;
  Owner owner_;
  const host::Pmu* core_ = nullptr; ///< the core type, on a hybrid CPU
  std::vector<Event> events_;
  std::vector<process::Fd> fds_;
  std::vector<std::uint64_t> ids_;
  std::uint64_t read_format_ = 0;
  Layout layout_;
  /// The last read(2), in the order of ids_, and that of the last reset().
  std::vector<std::uint64_t> now_, base_;
  std::vector<Count> counts_;
  std::size_t led_ = 0;  ///< 1: behind a leader that was added for the events, else 0
  bool reasons_ = false; ///< counts_ hold reasons in place of values
  bool started_ = false, running_ = false, lent_ = false;
  bool settled_ = false; ///< stopped when now_ was read: another read would return the same
};

} // namespace recount::perf
