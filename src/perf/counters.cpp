// Any number of events, in as few groups as possible.
#include <recount/group.hpp>

#include "perf/split.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <iterator>

namespace recount {

struct Counters::Parts {
  perf::Split split;
  std::vector<Count> counts;
  std::vector<std::string> notes;
};

namespace {

/// Of each name what can be counted here; the rest is a note.
std::vector<Event> countable_of(const std::vector<std::string>& names, Domain domain,
                                const GroupOptions& options, std::vector<std::string>& notes) {
  std::vector<Event> events;
  for (const std::string& name : names) {
    perf::Countable its = perf::countable(encode_each(name, domain), options);
    std::ranges::move(its.events, std::back_inserter(events));
    std::ranges::move(its.notes, std::back_inserter(notes));
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
  *this = Counters(countable_of(names, domain, options, notes), options);
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
