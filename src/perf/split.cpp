#include "perf/split.hpp"

#include <recount/error.hpp>

#include "base/format.hpp"
#include "event/hybrid.hpp"
#include "event/sysfs.hpp"
#include "perf/errno_hints.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

namespace recount::perf {
namespace {

/// The first few: a note is read by people.
std::string names(const std::vector<Event>& events) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(events.size(), shown); ++i)
    text += (text.empty() ? "" : ", ") + events[i].name;
  return events.size() <= shown ? text : fmt::format("{} and {} more", text, events.size() - shown);
}

} // namespace

void Split::add(const Event& event) {
  if (!event.present) throw absent_error(event);
  // A group with events of a core type counts nothing on the others, software events included.
  const host::Pmu* const core = event::core_of(event.attr, event::pmus());
  std::size_t at = 0;
  if (event::is_slots(event.attr, event::pmus())) at = groups_.size(); // leads: metrics may follow
  while (at < groups_.size() && (groups_[at].core() != core || !groups_[at].add(event).ok()))
    ++at;
  if (at == groups_.size()) open_further(event, core);
  members_[at].push_back(events_.size());
  events_.push_back(event);
}

void Split::open_further(const Event& event, const host::Pmu* core) {
  // The event itself may be the cause: open it alone for the kernel's errno.
  OpenGroup group(options_, call_);
  const auto joined = group.add(event);
  if (joined.how == OpenGroup::Joined::How::never_runs) throw never_runs_error(event, {});
  if (!joined.ok()) throw open_error(event, joined.error, options_);
  const auto rival = std::ranges::find(groups_, core, &OpenGroup::core);
  const bool leads =
      event::is_slots(event.attr, event::pmus()) || event::is_topdown_metric(event.attr, event::pmus());
  if (rival != groups_.end() && !leads) notes_.push_back(note(event, *rival));
  groups_.push_back(std::move(group));
  members_.emplace_back();
}

std::string Split::note(const Event& event, const OpenGroup& first) const {
  const auto others = std::ranges::count(groups_, first.core(), &OpenGroup::core) - 1;
  return fmt::format("{} does not fit into one event group with {}{}: counted in another group, multiplexed "
                     "if counters are scarce",
                     event.name, names(first.events()),
                     others > 0 ? ", nor into " + base::format_count(others, "further group") : "");
}

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
