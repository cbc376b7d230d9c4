// Classes Group and Counters: kernel groups on one target, or on each thread of a process or each CPU,
// summed.
#include "base/format.hpp"
#include "base/host/pmu.hpp"
#include "base/process/waiter.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/open_group.hpp"

#include <recount/count.hpp>
#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>

#include <fmt/format.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
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

/// Kernel groups, each on every target, and the sums of their counts over the targets.
struct TargetGroups {
  using Read = const std::vector<Count>& (perf::OpenGroup::*)();
  std::vector<Event> events;
  std::vector<std::vector<std::size_t>> members;     ///< of each group, the indices of its events
  std::vector<std::vector<perf::OpenGroup*>> groups; ///< parallel to members: on each target, of `owned`
  std::vector<std::unique_ptr<perf::OpenGroup>> owned;
  std::vector<Count> counts; ///< of the events
  std::vector<std::string> notes;

  /// Opens the groups from number `first` on; where there are none yet, the first target decides which of the
  /// events share one. `cpus`: see each_target().
  void open(std::size_t first, const std::vector<std::size_t>& which, const std::vector<int>& cpus,
            const GroupOptions& options) {
    counts.resize(events.size());
    each_target(options, cpus, [&](const GroupOptions& one) {
      return opens(options, [&] {
        if (members.size() == first) return split(which, one);
        std::vector<perf::OpenGroup> more;
        for (std::size_t g = first; g < members.size(); ++g) {
          perf::OpenGroup& group = more.emplace_back(one);
          for (const std::size_t i : members[g])
            group.join(events[i]);
        }
        for (std::size_t g = first; g < members.size(); ++g)
          take(g, std::move(more[g - first]));
      });
    });
    if (groups.size() == first)
      throw unavailable(events[which.front()].name, "its PMU counts on no CPU that is online");
  }
  void each(void (perf::OpenGroup::*what)()) {
    for (const auto& group : owned)
      (group.get()->*what)();
  }
  const std::vector<Count>& read(Read how) {
    if (owned.size() == 1) return (owned.front().get()->*how)();
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (perf::OpenGroup* const target : groups[g])
        add_counts(g, target == groups[g].front(), (target->*how)());
    return counts;
  }

private:
  void split(const std::vector<std::size_t>& which, const GroupOptions& one) {
    perf::Split split(one);
    for (const std::size_t i : which)
      split.add(events[i]);
    for (std::size_t g = 0; g < split.groups().size(); ++g) {
      auto& indices = members.emplace_back();
      for (const std::size_t i : split.members()[g])
        indices.push_back(which[i]);
      take(members.size() - 1, std::move(split.groups()[g]));
    }
    std::ranges::copy(split.notes(), std::back_inserter(notes));
  }
  void take(std::size_t group, perf::OpenGroup open) {
    open.map_pages();
    owned.push_back(std::make_unique<perf::OpenGroup>(std::move(open)));
    groups.resize(std::max(groups.size(), group + 1));
    groups[group].push_back(owned.back().get());
  }
  void add_counts(std::size_t group, bool first, const std::vector<Count>& of_target) {
    for (std::size_t i = 0; i < of_target.size(); ++i)
      if (Count& sum = counts[members[group][i]]; first)
        sum = of_target[i];
      else
        add(sum, of_target[i]);
  }
};

} // namespace

struct Group::Targets : TargetGroups {};

Group::Group(std::vector<Event> events, const GroupOptions& options) : targets_(std::make_unique<Targets>()) {
  if (events.empty()) throw bad_input("group", "needs at least one event");
  targets_->events = std::move(events);
  auto& all = targets_->members.emplace_back(targets_->events.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  targets_->open(0, {0}, event::cpus_of(targets_->events.front().attr, event::pmus()), options);
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
  targets_->each(&perf::OpenGroup::start);
}
void Group::stop() {
  targets_->each(&perf::OpenGroup::stop);
}
void Group::reset() {
  targets_->each(&perf::OpenGroup::reset);
}
const std::vector<Count>& Group::read() {
  return targets_->read(&perf::OpenGroup::read);
}
const std::vector<Count>& Group::read_and_reset() {
  return targets_->read(&perf::OpenGroup::read_and_reset);
}
const std::vector<Event>& Group::events() const noexcept {
  return targets_->events;
}
int Group::fd(std::size_t i) const {
  return targets_->owned.front()->lend(i);
}

struct Counters::Parts : TargetGroups {};

Counters::Counters(std::vector<Event> events, const GroupOptions& options)
    : parts_(std::make_unique<Parts>()) {
  if (events.empty()) throw bad_input("counters", "needs at least one event");
  parts_->events = std::move(events);
  // On all CPUs an event is opened where its PMU is.
  std::map<std::vector<int>, std::vector<std::size_t>> by_cpus;
  for (std::size_t i = 0; i < parts_->events.size(); ++i)
    by_cpus[options.all_cpus ? event::cpus_of(parts_->events[i].attr, event::pmus()) : std::vector<int>()]
        .push_back(i);
  for (const auto& [cpus, which] : by_cpus)
    parts_->open(parts_->members.size(), which, cpus, options);
}

Counters::Counters(const std::vector<std::string>& names, Domain domain, const GroupOptions& options) {
  std::vector<Event> events;
  std::vector<std::string> notes; ///< about what cannot be counted here
  for (const std::string& name : names) {
    perf::Countable countable = perf::countable(encode_each(name, domain), options);
    std::ranges::move(countable.events, std::back_inserter(events));
    std::ranges::move(countable.notes, std::back_inserter(notes));
  }
  *this = Counters(std::move(events), options);
  parts_->notes.insert(parts_->notes.begin(), notes.begin(), notes.end());
}

Counters::Counters(std::initializer_list<const char*> names, Domain domain, const GroupOptions& options)
    : Counters(std::vector<std::string>(names.begin(), names.end()), domain, options) {}

Counters::Counters(Counters&&) noexcept = default;
Counters& Counters::operator=(Counters&&) noexcept = default;
Counters::~Counters() = default;

void Counters::start() {
  parts_->each(&perf::OpenGroup::start);
}
void Counters::stop() {
  parts_->each(&perf::OpenGroup::stop);
}
void Counters::reset() {
  parts_->each(&perf::OpenGroup::reset);
}
const std::vector<Count>& Counters::read() {
  return parts_->read(&perf::OpenGroup::read);
}
const std::vector<Count>& Counters::read_and_reset() {
  return parts_->read(&perf::OpenGroup::read_and_reset);
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

namespace {
bool too_short(const Count& count) noexcept {
  return multiplexed(count) &&
         (count.running_ns == 0 || (count.running_ns < min_scaled_ns && share(count) < min_scaled_share));
}
} // namespace

Reason why_not_scaled(const Count& count) {
  if (!count.value) return count.reason.empty() ? Reason("not counted") : count.reason.get();
  if (!too_short(count)) return {};
  return Reason(fmt::format("scheduled for {} of {}, less than {} and {:.0f} %",
                            base::format_nanoseconds(count.running_ns),
                            base::format_nanoseconds(count.enabled_ns),
                            base::format_nanoseconds(min_scaled_ns), 100 * min_scaled_share),
                ReasonCode::busy);
}

std::optional<double> scale(const Count& count) noexcept {
  if (!count.value || too_short(count)) return {};
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
  std::uint64_t enabled = 0;
  for (Count part : parts) {
    enabled = std::max(enabled, part.enabled_ns);
    if (!part.value) part.running_ns = 0;
    add(sum, part);
  }
  sum.enabled_ns = enabled;
  // Each PMU has its own clock of these times: their sum may exceed the whole by a few nanoseconds.
  sum.running_ns = std::min(sum.running_ns, enabled);
  return sum;
}

} // namespace recount
