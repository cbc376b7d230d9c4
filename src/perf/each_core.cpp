#include "perf/each_core.hpp"

#include "event/hybrid.hpp"
#include "event/sysfs.hpp"
#include "perf/split.hpp"

#include <recount/error.hpp>

#include <map>
#include <optional>

namespace recount::perf {

Countable countable(std::vector<Event> each, const GroupOptions& options) {
  if (each.size() == 1) return {std::move(each), {}};
  Countable out;
  std::optional<Error> first;
  for (Event& event : each) {
    try {
      Split(options).add(event);
      out.events.push_back(std::move(event));
    } catch (const Error& error) {
      if (!first) first = error;
      out.notes.push_back(error.problem().subject +
                          ": not counted on this core type: " + error.problem().cause);
    }
  }
  if (out.events.empty() && first) throw Error(*first);
  return out;
}

std::vector<std::vector<std::size_t>> passes_of(const std::vector<Event>& events,
                                                const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<std::vector<std::size_t>> passes;
  std::map<const host::Pmu*, std::size_t> used;
  for (const auto& group : groups) {
    const std::size_t pass = used[event::core_of(events[group.front()].attr, event::pmus())]++;
    if (pass == passes.size()) passes.emplace_back();
    passes[pass].insert(passes[pass].end(), group.begin(), group.end());
  }
  return passes;
}

} // namespace recount::perf
