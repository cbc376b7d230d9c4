#include <recount/group.hpp>

#include "perf/open_group.hpp"

#include <recount/error.hpp>

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

} // namespace recount
