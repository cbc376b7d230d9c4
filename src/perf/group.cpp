#include "perf/open_group.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <algorithm>
#include <iterator>

namespace recount {
namespace {

std::vector<Event> encode_all(const std::vector<std::string>& names, Domain domain) {
  std::vector<Event> events;
  for (const std::string& name : names)
    events.push_back(encode(name, domain));
  return events;
}

} // namespace

Group::Group(std::vector<Event> events, const GroupOptions& options)
    : open_(std::make_unique<perf::OpenGroup>(options)) {
  if (events.empty()) throw bad_input("group", "needs at least one event");
  for (const Event& event : events)
    open_->join(event);
}

Group::Group(const std::vector<std::string>& names, Domain domain, const GroupOptions& options)
    : Group(encode_all(names, domain), options) {}

Group::Group(std::initializer_list<const char*> names, Domain domain, const GroupOptions& options)
    : Group(std::vector<std::string>(names.begin(), names.end()), domain, options) {}

Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;
Group::~Group() = default;

void Group::start() {
  open_->start();
}
void Group::stop() {
  open_->stop();
}
void Group::reset() {
  open_->reset();
}
const std::vector<Count>& Group::read() {
  return open_->read();
}
const std::vector<Event>& Group::events() const noexcept {
  return open_->events();
}
const std::vector<Count>& Group::read_and_reset() {
  return open_->read_and_reset();
}
int Group::fd(std::size_t i) const {
  return open_->lend(i);
}

struct Counters::Parts {
  perf::Split split;
  std::vector<Count> counts;
  std::vector<std::string> notes;
};

namespace {

/// Of each name what can be counted here; the rest is a note.
std::vector<Event> countable_events(const std::vector<std::string>& names, Domain domain,
                                    const GroupOptions& options, std::vector<std::string>& notes) {
  std::vector<Event> events;
  for (const std::string& name : names) {
    perf::Countable countable = perf::countable(encode_each(name, domain), options);
    std::ranges::move(countable.events, std::back_inserter(events));
    std::ranges::move(countable.notes, std::back_inserter(notes));
  }
  return events;
}

} // namespace

Counters::Counters(std::vector<Event> events, const GroupOptions& options)
    : parts_(std::make_unique<Parts>(Parts{perf::Split(options), {}, {}})) {
  if (events.empty()) throw bad_input("counters", "needs at least one event");
  for (const Event& event : events)
    parts_->split.add(event);
  parts_->counts.resize(events.size());
  parts_->notes = parts_->split.notes();
}

Counters::Counters(const std::vector<std::string>& names, Domain domain, const GroupOptions& options) {
  std::vector<std::string> notes;
  *this = Counters(countable_events(names, domain, options, notes), options);
  parts_->notes.insert(parts_->notes.begin(), notes.begin(), notes.end());
}

Counters::Counters(std::initializer_list<const char*> names, Domain domain, const GroupOptions& options)
    : Counters(std::vector<std::string>(names.begin(), names.end()), domain, options) {}

Counters::Counters(Counters&&) noexcept = default;
Counters& Counters::operator=(Counters&&) noexcept = default;
Counters::~Counters() = default;

void Counters::start() {
  for (auto& group : parts_->split.groups())
    group.start();
}

void Counters::stop() {
  for (auto& group : parts_->split.groups())
    group.stop();
}

void Counters::reset() {
  for (auto& group : parts_->split.groups())
    group.reset();
}

const std::vector<Count>& Counters::read() {
  const auto& members = parts_->split.members();
  for (std::size_t g = 0; g < members.size(); ++g) {
    const auto& counts = parts_->split.groups()[g].read();
    for (std::size_t i = 0; i < counts.size(); ++i)
      parts_->counts[members[g][i]] = counts[i];
  }
  return parts_->counts;
}

const std::vector<Event>& Counters::events() const noexcept {
  return parts_->split.events();
}
const std::vector<std::vector<std::size_t>>& Counters::groups() const noexcept {
  return parts_->split.members();
}
const std::vector<std::string>& Counters::notes() const noexcept {
  return parts_->notes;
}

} // namespace recount
