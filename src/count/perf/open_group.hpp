// Open kernel groups: descriptors, read buffer, and whether they are scheduled; events split into several.
#pragma once

#include "base/host/pmu.hpp"
#include "base/process/fd.hpp"
#include "count/perf/owner.hpp"
#include "count/perf/read_page.hpp"
#include "count/perf/try_open.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::perf {

/// How groups are read. What samples lose is counted by Sampling.
inline constexpr std::uint64_t group_read_format =
    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;

/// One event's words.
struct Raw {
  std::uint64_t value = 0, lost = 0;
};
/// A group's words that are not an event's.
struct Times {
  std::uint64_t enabled = 0, running = 0;
};

/// A Reason in static memory: reading allocates nothing.
struct NoCount {
  const char* cause;
  ReasonCode code;
};

/// Offsets in 64-bit words, under a read_format with PERF_FORMAT_GROUP and PERF_FORMAT_ID
/// (perf_event_open(2)).
class Layout {
public:
  explicit Layout(std::uint64_t read_format = group_read_format) noexcept;
  /// Number of words of a group of `events`.
  [[nodiscard]] std::size_t words(std::size_t events) const noexcept { return header_ + events * stride_; }
  /// Sorts what was read into `out`, which is in the order of `ids`: the kernel's own order may differ. False
  /// when the words are not those of this group.
  [[nodiscard]] bool take(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids,
                          Times& times, std::span<Raw> out) const noexcept;

  /// Whether these words, as many as words(ids.size()), are those of the group, in the order of `ids`.
  [[nodiscard]] bool in_order(const std::uint64_t* words, std::span<const std::uint64_t> ids) const noexcept {
    if (words[0] != ids.size()) return false;
    const std::uint64_t* event = words + header_ + id_;
    for (const std::uint64_t id : ids) {
      if (*event != id) return false;
      event += stride_;
    }
    return true;
  }
  /// Puts the events' words into the order of `ids`. False when they are not those of this group.
  [[nodiscard]] bool put_in_order(std::span<std::uint64_t> words, std::span<const std::uint64_t> ids) const;

  // Offsets for a read_format with both times.
  [[nodiscard]] std::size_t enabled() const noexcept { return enabled_; }
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t value(std::size_t event) const noexcept { return header_ + event * stride_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }

private:
  static constexpr std::size_t none = 0; // word 0 is the number of events, never one of these fields
  std::size_t enabled_ = none, running_ = none, header_ = 1;
  static constexpr std::size_t id_ = 1; // within an event's words, whose first is the value
  std::size_t lost_ = none, stride_ = 2;
};

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

  /// From now on reads need no system call while the events count the calling thread and Linux allows it. No
  /// event is added after this.
  void map_pages() {
    if (options_.pid == 0 && options_.cpu < 0 && !options_.inherit) pages_.map(fds_);
  }

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
  void deliver_reason(const NoCount& why, std::uint64_t enabled, std::uint64_t running);
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
  Layout layout_;
  UserPages pages_;
  /// The last read(2), in the order of ids_, and that of the last reset().
  std::vector<std::uint64_t> now_, base_;
  std::vector<Count> counts_;
  std::size_t led_ = 0;  ///< 1: behind a leader that was added for the events, else 0
  bool reasons_ = false; ///< counts_ hold reasons in place of values
  bool started_ = false, running_ = false, lent_ = false;
  bool settled_ = false; ///< stopped when now_ was read: another read would return the same
};

/// The events of one name (encode_each()) that can be counted here.
struct Countable {
  std::vector<Event> events;
  std::vector<std::string> notes; ///< one line for each core type that cannot count it, with the reason
};
/// Tries each alone. Throws the Error of the first when none can be counted. A single event is not tried.
[[nodiscard]] Countable countable(std::vector<Event> each, const GroupOptions& options = {});

/// Groups that need no counters of one another are one pass: the i-th group of each core type, and with them
/// the first of the events that no core type counts. `groups` as Counters::groups().
[[nodiscard]] std::vector<std::vector<std::size_t>>
make_passes(const std::vector<Event>& events, const std::vector<std::vector<std::size_t>>& groups);

/// First fit: each event is added to the first group of its core type that accepts it, else to a new one. Not
/// thread-safe.
class Split {
public:
  explicit Split(const GroupOptions& options, OpenCall call = open_call) : options_(options), call_(call) {}

  /// Throws Error when the event cannot be opened even alone.
  void add(const Event& event);

  [[nodiscard]] std::vector<OpenGroup>& groups() noexcept { return groups_; }
  /// The indices of each group's events, in the order of add().
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& members() const noexcept { return members_; }
  [[nodiscard]] const std::vector<Event>& events() const noexcept { return events_; }
  /// One line per group after the first of its core type: its first event, and the events it did not fit
  /// with.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
  void open_further(const Event& event, const host::Pmu* core);
  /// `first`: the first group that it could have joined.
  [[nodiscard]] std::string note(const Event& event, const OpenGroup& first) const;

  GroupOptions options_;
  OpenCall call_;
  std::vector<Event> events_;
  std::vector<OpenGroup> groups_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<std::string> notes_;
};

} // namespace recount::perf
