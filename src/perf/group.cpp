// Classes Group and Counters: kernel groups on one target, or on each thread of a process or each CPU,
// summed.
#include "event/sysfs.hpp"
#include "host/pmu.hpp"
#include "perf/open_group.hpp"
#include "process/waiter.hpp"

#include <recount/count.hpp>
#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace recount {
namespace {

void require_one_target(const GroupOptions& options) {
  if (options.process && options.all_cpus)
    throw bad_input("group", "counts a process or all CPUs, not both",
                    "set GroupOptions::process or GroupOptions::all_cpus");
  if (options.process && (options.pid < 0 || options.cpu >= 0))
    throw bad_input("group", "a process is counted on all CPUs where it runs",
                    "leave GroupOptions::cpu at -1 and set pid to a process, or to 0 for this one");
  if (options.cgroup >= 0 && options.cpu < 0 && !options.all_cpus)
    throw bad_input("GroupOptions::cgroup", "is counted on CPUs only", "set cpu or all_cpus");
  if (options.all_cpus && (options.pid > 0 || options.cpu >= 0))
    throw bad_input("group", "all CPUs are counted for all processes",
                    "leave GroupOptions::pid and cpu as they are, or set cpu alone");
}

/// Calls `open` with the options of each thread or CPU that `options` stand for. It returns false for a
/// thread that has ended. `cpus`: where the events exist; empty: on all CPUs.
void each_target(const GroupOptions& options, const std::vector<int>& cpus,
                 const std::function<bool(const GroupOptions&)>& open) {
  require_one_target(options);
  GroupOptions one = options;
  one.process = one.all_cpus = false;
  if (options.all_cpus) {
    one.pid = -1;
    for (const int cpu : host::online_cpus()) {
      one.cpu = cpu;
      if (cpus.empty() || std::ranges::count(cpus, cpu) > 0) static_cast<void>(open(one));
    }
  } else if (options.process) {
    one.inherit = true; // so that no thread that starts meanwhile is missed
    const pid_t pid = options.pid > 0 ? options.pid : getpid();
    const auto taken = process::each_thread(pid, [&](pid_t tid) {
      one.pid = tid == gettid() ? 0 : tid;
      return open(one);
    });
    if (taken == 0)
      throw unavailable("process " + std::to_string(pid), "there is no such process", {},
                        "ps lists the processes");
  } else {
    static_cast<void>(open(one));
  }
}

/// Opens what `body` opens; false if the thread has ended meanwhile.
template <class Body>
bool opens(const GroupOptions& requested, const Body& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (requested.process && error.problem().error == ESRCH) return false;
    throw;
  }
}

perf::OpenGroup open_group_of(const std::vector<Event>& events, const GroupOptions& options) {
  perf::OpenGroup group(options);
  for (const Event& event : events)
    group.join(event);
  return group;
}

/// Adds the counts of one target to those of others.
void add_target(Count& sum, const Count& part) {
  sum.enabled_ns += part.enabled_ns;
  sum.running_ns += part.running_ns;
  if (part.value)
    sum.value = sum.value.value_or(0) + *part.value;
  else if (sum.reason.empty())
    sum.reason = part.reason;
}

/// Reads a group of each target by `read` and adds them up in `into`, at `members` (empty: in order).
template <class Groups, class Read>
void read_sum(Groups& groups, std::vector<Count>& into, const std::vector<std::size_t>& members,
              const Read& read) {
  const auto at = [&](std::size_t i) -> Count& { return into[members.empty() ? i : members[i]]; };
  bool first = true;
  for (perf::OpenGroup* const group : groups) {
    const std::vector<Count>& counts = ((*group).*read)();
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (first)
        at(i) = counts[i];
      else
        add_target(at(i), counts[i]);
    first = false;
  }
  const std::size_t events = groups.front()->events().size();
  for (std::size_t i = 0; i < events; ++i)
    if (Count& sum = at(i); sum.value && !sum.reason.empty()) sum.reason = {};
}

} // namespace

struct Group::Targets {
  std::vector<std::unique_ptr<perf::OpenGroup>> owned; ///< one for each target
  std::vector<perf::OpenGroup*> groups;
  std::vector<Count> sum;
  void take(perf::OpenGroup group) {
    group.map_pages();
    owned.push_back(std::make_unique<perf::OpenGroup>(std::move(group)));
    groups.push_back(owned.back().get());
  }
  const std::vector<Count>& read(const std::vector<Count>& (perf::OpenGroup::*how)()) {
    if (groups.size() == 1) return (*groups.front().*how)();
    sum.resize(groups.front()->events().size());
    read_sum(groups, sum, {}, how);
    return sum;
  }
};

Group::Group(std::vector<Event> events, const GroupOptions& options) : targets_(std::make_unique<Targets>()) {
  if (events.empty()) throw bad_input("group", "needs at least one event");
  each_target(options, event::cpus_of(events.front().attr, event::pmus()), [&](const GroupOptions& one) {
    return opens(options, [&] { targets_->take(open_group_of(events, one)); });
  });
  if (targets_->groups.empty())
    throw unavailable(events.front().name, "its PMU counts on no CPU that is online");
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
  for (auto* group : targets_->groups)
    group->start();
}
void Group::stop() {
  for (auto* group : targets_->groups)
    group->stop();
}
void Group::reset() {
  for (auto* group : targets_->groups)
    group->reset();
}
const std::vector<Count>& Group::read() {
  return targets_->read(&perf::OpenGroup::read);
}
const std::vector<Count>& Group::read_and_reset() {
  return targets_->read(&perf::OpenGroup::read_and_reset);
}
const std::vector<Event>& Group::events() const noexcept {
  return targets_->groups.front()->events();
}
int Group::fd(std::size_t i) const {
  return targets_->groups.front()->lend(i);
}

struct Counters::Parts {
  std::vector<Event> events;
  std::vector<std::vector<std::size_t>> members; ///< of each group, the indices of its events
  /// Parallel to members: the group of each target, of which `owned` has all.
  std::vector<std::vector<perf::OpenGroup*>> groups;
  std::vector<std::unique_ptr<perf::OpenGroup>> owned;
  std::vector<Count> counts;
  std::vector<std::string> notes;

  void open(const std::vector<std::size_t>& which, const std::vector<int>& cpus, const GroupOptions& options);
  void read(const std::vector<Count>& (perf::OpenGroup::*how)()) {
    for (std::size_t g = 0; g < members.size(); ++g)
      read_sum(groups[g], counts, members[g], how);
  }

private:
  void take(std::size_t group, perf::OpenGroup open) {
    open.map_pages();
    owned.push_back(std::make_unique<perf::OpenGroup>(std::move(open)));
    groups[group].push_back(owned.back().get());
  }
};

/// The first target decides which events share a group; the others follow it.
void Counters::Parts::open(const std::vector<std::size_t>& which, const std::vector<int>& cpus,
                           const GroupOptions& options) {
  const std::size_t before = members.size();
  each_target(options, cpus, [&](const GroupOptions& one) {
    return opens(options, [&] {
      if (members.size() > before) {
        std::vector<perf::OpenGroup> more;
        for (std::size_t g = before; g < members.size(); ++g)
          more.push_back(open_group_of(groups[g].front()->events(), one));
        for (std::size_t g = before; g < members.size(); ++g)
          take(g, std::move(more[g - before]));
        return;
      }
      perf::Split split(one);
      for (const std::size_t i : which)
        split.add(events[i]);
      for (std::size_t g = 0; g < split.groups().size(); ++g) {
        auto& indices = members.emplace_back();
        for (const std::size_t i : split.members()[g])
          indices.push_back(which[i]);
        groups.emplace_back();
        take(members.size() - 1, std::move(split.groups()[g]));
      }
      std::ranges::copy(split.notes(), std::back_inserter(notes));
    });
  });
  if (members.size() == before)
    throw unavailable(events[which.front()].name, "its PMU counts on no CPU that is online");
}

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
    : parts_(std::make_unique<Parts>()) {
  if (events.empty()) throw bad_input("counters", "needs at least one event");
  parts_->events = std::move(events);
  parts_->counts.resize(parts_->events.size());
  // On all CPUs an event is opened where its PMU is.
  std::map<std::vector<int>, std::vector<std::size_t>> by_cpus;
  for (std::size_t i = 0; i < parts_->events.size(); ++i)
    by_cpus[options.all_cpus ? event::cpus_of(parts_->events[i].attr, event::pmus()) : std::vector<int>()]
        .push_back(i);
  for (const auto& [cpus, which] : by_cpus)
    parts_->open(which, cpus, options);
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
  for (const auto& group : parts_->owned)
    group->start();
}
void Counters::stop() {
  for (const auto& group : parts_->owned)
    group->stop();
}
void Counters::reset() {
  for (const auto& group : parts_->owned)
    group->reset();
}
const std::vector<Count>& Counters::read() {
  parts_->read(&perf::OpenGroup::read);
  return parts_->counts;
}
const std::vector<Count>& Counters::read_and_reset() {
  parts_->read(&perf::OpenGroup::read_and_reset);
  return parts_->counts;
}

const std::vector<Event>& Counters::events() const noexcept {
  return parts_->events;
}
const std::vector<std::vector<std::size_t>>& Counters::groups() const noexcept {
  return parts_->members;
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
  const auto not_counted = [&](Shared<Reason> reason) {
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
    return not_counted(Reason("never scheduled: the counter was in use by others", ReasonCode::busy));
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
