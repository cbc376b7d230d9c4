#include "perf/open_group.hpp"

#include <recount/count.hpp>
#include <recount/error.hpp>
#include <recount/group.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <iterator>

namespace recount {
Group::Group(std::vector<Event> events, const GroupOptions& options)
    : open_(std::make_unique<perf::OpenGroup>(options)) {
  if (events.empty()) throw bad_input("group", "needs at least one event");
  for (const Event& event : events)
    open_->join(event);
}

Group::Group(const std::vector<std::string>& names, Domain domain, const GroupOptions& options)
    : Group(names | ranges::views::transform([&](const auto& name) { return encode(name, domain); }) |
                ranges::to<std::vector>(),
            options) {}

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

double share(const Count& count) noexcept {
  if (count.enabled_ns == 0) return 1;
  return static_cast<double>(count.running_ns) / static_cast<double>(count.enabled_ns);
}

bool multiplexed(const Count& count) noexcept {
  return count.running_ns < count.enabled_ns;
}

std::optional<double> scale(const Count& count) noexcept {
  if (!count.value || (count.enabled_ns > 0 && count.running_ns == 0)) return {};
  const auto value = static_cast<double>(*count.value);
  if (!multiplexed(count)) return value;
  return value * static_cast<double>(count.enabled_ns) / static_cast<double>(count.running_ns);
}

Count difference(const Count& after, const Count& before) {
  Count delta;
  const auto not_counted = [&](Reason reason) {
    delta.value.reset();
    delta.reason = std::move(reason);
    return delta;
  };
  // A counter with no value yet because it had not been started counted 0.
  const bool fresh = before.enabled_ns == 0 && before.running_ns == 0;
  if (!after.value) return not_counted(after.reason);
  if (!before.value && !fresh) return not_counted(before.reason);
  const std::uint64_t from = before.value.value_or(0);
  if (*after.value < from || after.enabled_ns < before.enabled_ns || after.running_ns < before.running_ns)
    return not_counted("the counter decreased: it was reset between two reads");
  delta.enabled_ns = after.enabled_ns - before.enabled_ns;
  delta.running_ns = after.running_ns - before.running_ns;
  if (delta.enabled_ns > 0 && delta.running_ns == 0)
    return not_counted({"never scheduled: the counter was in use by others", ReasonCode::busy});
  delta.value = *after.value - from;
  return delta;
}

Count sum_of_core_types(std::span<const Count> parts) {
  Count sum;
  for (const Count& part : parts) {
    sum.enabled_ns = std::max(sum.enabled_ns, part.enabled_ns);
    if (part.value) {
      sum.value = sum.value.value_or(0) + *part.value;
      sum.running_ns += part.running_ns;
    } else if (sum.reason.empty()) {
      sum.reason = part.reason;
    }
  }
  // Each PMU has its own clock of these times: their sum may exceed the whole by a few nanoseconds.
  sum.running_ns = std::min(sum.running_ns, sum.enabled_ns);
  if (sum.value) sum.reason = {};
  return sum;
}

} // namespace recount
