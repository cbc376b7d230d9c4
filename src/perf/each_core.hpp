// Events of hybrid CPUs: one per core type.
#pragma once

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

} // namespace recount::perf
