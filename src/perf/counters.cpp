// Any number of events, in as few groups as possible.
#include <recount/group.hpp>

#include "perf/split.hpp"

#include <recount/error.hpp>

namespace recount {

struct Counters::Parts {
  perf::Split split;
  std::vector<Count> counts;
};

namespace {

std::vector<Event> encode_each_of(const std::vector<std::string>& names, Domain domain) {
  std::vector<Event> events;
  for (const std::string& name : names)
    for (Event& event : encode_each(name, domain))
      events.push_back(std::move(event));
  return events;
}

} // namespace

Counters::Counters(std::vector<Event> events, const GroupOptions& options)
    : parts_(std::make_unique<Parts>(Parts{perf::Split(options), {}})) {
  if (events.empty()) throw bad_input("counters", "needs at least one event");
  for (const Event& event : events)
    parts_->split.add(event);
  parts_->counts.resize(events.size());
}

Counters::Counters(const std::vector<std::string>& names, Domain domain, const GroupOptions& options)
    : Counters(encode_each_of(names, domain), options) {}

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
  return parts_->split.notes();
}

} // namespace recount
