#include "perf/split.hpp"

#include "perf/errno_hints.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

namespace recount::perf {
namespace {

std::string names(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events)
    text += (text.empty() ? "" : ", ") + event.name;
  return text;
}

} // namespace

void Split::add(const Event& event) {
  if (!event.present) throw absent_error(event);
  std::size_t at = 0;
  while (at < groups_.size() && !groups_[at].add(event).ok())
    ++at;
  if (at == groups_.size()) open_further(event);
  members_[at].push_back(events_.size());
  events_.push_back(event);
}

void Split::open_further(const Event& event) {
  // The event itself may be the cause: open it alone for the kernel's errno.
  OpenGroup group(options_, call_);
  const auto joined = group.add(event);
  if (joined.how == OpenGroup::Joined::How::never_runs) throw never_runs_error(event, {});
  if (!joined.ok()) throw open_error(event, joined.error, options_);
  if (!groups_.empty()) notes_.push_back(note(event));
  groups_.push_back(std::move(group));
  members_.emplace_back();
}

std::string Split::note(const Event& event) const {
  std::string others;
  for (const OpenGroup& group : groups_)
    others += (others.empty() ? "" : ", nor with ") + names(group.events());
  return fmt::format("{} does not fit into one event group with {}: counted in another group, multiplexed "
                     "if counters are scarce",
                     event.name, others);
}

} // namespace recount::perf
