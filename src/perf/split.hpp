// Events over as few kernel groups as they fit in.
#pragma once

#include "perf/open_group.hpp"

#include <recount/group.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace recount::perf {

/// First fit: each event goes into the first group that takes it, else into a new one. Not thread-safe.
class Split {
public:
  explicit Split(const GroupOptions& options, OpenCall call = open_call) : options_(options), call_(call) {}

  /// Throws Error when the event cannot be opened even alone.
  void add(const Event& event);

  [[nodiscard]] std::vector<OpenGroup>& groups() noexcept { return groups_; }
  /// The indices of each group's events, in the order of add().
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& members() const noexcept { return members_; }
  [[nodiscard]] const std::vector<Event>& events() const noexcept { return events_; }
  /// A line for each group but the first: which event opened it and what it did not fit with.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
  void open_further(const Event& event);
  [[nodiscard]] std::string note(const Event& event) const;

  GroupOptions options_;
  OpenCall call_;
  std::vector<Event> events_;
  std::vector<OpenGroup> groups_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<std::string> notes_;
};

} // namespace recount::perf
