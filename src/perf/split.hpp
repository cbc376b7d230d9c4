// Splits events into as few kernel groups as possible.
#pragma once

#include "perf/open_group.hpp"

#include <recount/group.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace recount::perf {

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
passes_of(const std::vector<Event>& events, const std::vector<std::vector<std::size_t>>& groups);

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
