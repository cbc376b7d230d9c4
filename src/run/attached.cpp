#include "run/attached.hpp"

#include "base/host/emulation.hpp"
#include "base/process/waiter.hpp"
#include "count/perf/removed.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace recount::stat {

using std::chrono::nanoseconds;

void Attached::open(std::size_t group, const GroupOptions& options) {
  std::vector<Event> events;
  for (const std::size_t e : plan_.groups[group])
    events.push_back(plan_.events[e]);
  parts_.push_back({group, options.pid > 0 ? options.pid : options.cpu, Group(std::move(events), options)});
}

bool Attached::attach(pid_t tid, const GroupOptions& options, bool start) {
  GroupOptions of_thread = options;
  of_thread.pid = tid;
  const auto first = static_cast<std::ptrdiff_t>(parts_.size());
  try {
    for (std::size_t group = 0; group < plan_.groups.size(); ++group)
      open(group, of_thread);
  } catch (const Error&) {
    parts_.erase(parts_.begin() + first, parts_.end());
    if (::kill(tid, 0) != 0 && errno == ESRCH) return false; // ended after it was listed
    throw;
  }
  for (auto part = parts_.begin() + first; start && part != parts_.end(); ++part)
    part->counts.start();
  return true;
}

Attached::Attached(const Plan& plan, const std::vector<pid_t>& pids, When when, bool inherit, bool threads)
    : plan_(plan) {
  if (pids.empty()) open_cpus();
  if (pids.empty() && when == When::at_once) start();
  GroupOptions options;
  options.inherit = inherit;
  options.enable_on_exec = when == When::at_exec;
  const auto take = [&](pid_t tid) { return attach(tid, options, when == When::at_once); };
  for (const pid_t pid : pids)
    if (threads ? !take(pid) : process::each_thread(pid, take) == 0)
      throw bad_input(fmt::format("{} {}", threads ? "thread" : "process", pid),
                      fmt::format("there is no such {}, or it has ended", threads ? "thread" : "process"),
                      threads ? "ps -eL lists the running threads" : "ps -e lists the running processes");
}

void Attached::open_cpus() {
  GroupOptions options;
  options.pid = -1;
  options.cgroup = plan_.cgroup;
  for (std::size_t group = 0; group < plan_.groups.size(); ++group)
    for (const int cpu : cpus_of_group(plan_, plan_.groups[group])) {
      options.cpu = cpu;
      open(group, options);
    }
}

void Attached::start() {
  for (Part& part : parts_)
    part.counts.start();
}

void Attached::stop() {
  for (Part& part : parts_)
    part.counts.stop();
}

std::vector<Count> Attached::read() {
  places_.clear();
  for (Part& part : parts_) {
    std::vector<Count>& sums = places_[part.place];
    sums.resize(plan_.events.size());
    const auto& counts = part.counts.read();
    for (std::size_t i = 0; i < counts.size(); ++i)
      add(sums[plan_.groups[part.group][i]], counts[i]);
  }
  std::vector<Count> all(plan_.events.size());
  for (const auto& [place, counts] : places_)
    for (std::size_t e = 0; e < counts.size(); ++e)
      add(all[e], counts[e]);
  return all;
}

namespace {
CounterReading read(Attached& counters, const process::Child* command) {
  const auto used = [command] { return command ? command->cpu_time() : nanoseconds(0); };
  CounterReading reading;
  reading.before = used();
  reading.counts = counters.read();
  reading.after = used();
  reading.switches = command ? command->switches() : 0;
  return reading;
}

/// What was counted from one reading to another.
struct CountedInterval {
  IntervalCounts counted;
  nanoseconds enabled{0};
  nanoseconds used{0}; ///< at least: the readings themselves take time

  CountedInterval(const CounterReading& from, const CounterReading& to) : used(to.before - from.after) {
    for (std::size_t e = 0; e < to.counts.size(); ++e) {
      counted.counts.push_back(difference(to.counts[e], from.counts[e]));
      enabled = std::max(enabled, nanoseconds(counted.counts.back().enabled_ns));
    }
    // recount emulate --exact does not count the start of Valgrind, and loses no program.
    if (host::this_emulation().exact) used = std::min(used, enabled);
  }
};

/// Takes the values away, unless the reason is empty.
void remove(IntervalCounts& counted, const Reason& reason) {
  counted.removed = reason;
  for (Count& count : counted.counts)
    if (!reason.empty() && count.value) {
      count.value.reset();
      count.reason = reason;
    }
}
} // namespace

IntervalCounts between(const CounterReading& first, const CounterReading& now, bool removed) {
  CountedInterval all(first, now);
  if (all.counted.counts.empty() || (all.used <= nanoseconds(0) && !removed)) return all.counted;
  if (removed || perf::removed(all.enabled, all.used))
    remove(all.counted, perf::removed_reason(all.enabled, all.used));
  else
    all.counted.incomplete = perf::counted_in_part(all.enabled, all.used, now.switches);
  return all.counted;
}

IntervalCounts between(const CounterReading& first, const CounterReading& from, const CounterReading& now,
                       bool ended) {
  // Processor time of an execve(2), which is not counted: an interval may begin or end in it. The first one
  // also takes down the memory of this process, which is large under a sanitizer.
  constexpr nanoseconds longest_exec{10'000'000}, longest_first{100'000'000};
  const bool begins_before = CountedInterval(first, from).enabled == nanoseconds(0);
  CountedInterval part(from, now);
  if (!ended && now.before - first.after <= (begins_before ? longest_first : longest_exec))
    return part.counted; // too early to tell
  if (!ended && part.used > longest_exec && perf::removed(part.enabled, part.used))
    remove(part.counted, perf::removed_reason(part.enabled, part.used));
  else if (part.enabled < longest_exec)
    remove(part.counted, between(first, now).removed);
  return part.counted;
}

IntervalCounter::IntervalCounter(const Plan& plan, Attached& counters, const process::Child* command,
                                 bool removed, std::chrono::milliseconds interval)
    : plan_(plan),
      counters_(counters),
      command_(command),
      removed_(removed),
      interval_(interval),
      first_(read(counters, command)),
      last_(first_),
      begin_(Clock::now()),
      last_end_(begin_),
      due_(begin_ + interval) {}

Slice IntervalCounter::next(bool ended) {
  const Clock::time_point from = std::exchange(last_end_, Clock::now());
  const CounterReading before = std::exchange(last_, read(counters_, command_));
  Slice closed = slice(from, removed_ ? between(before, last_, true) : between(first_, before, last_, ended));
  closed.interval = number_++;
  while (interval_.count() > 0 && due_ <= last_end_)
    due_ += interval_; // a missed interval is part of this one
  return closed;
}

Slice IntervalCounter::total() const {
  return slice(begin_, between(first_, last_, removed_));
}

Slice IntervalCounter::slice(Clock::time_point from, IntervalCounts counted) const {
  const auto seconds = [this](Clock::time_point time) {
    return std::chrono::duration<double>(time - begin_).count();
  };
  Slice slice;
  slice.begin = seconds(from);
  slice.end = seconds(last_end_);
  slice.counts = std::move(counted.counts);
  slice.rows = evaluate(plan_, slice.counts, slice.end - slice.begin);
  flag_all(slice.rows, counted.incomplete);
  return slice;
}

void flag_all(std::span<result::Observation> rows, const std::string& flag) {
  for (result::Observation& row : rows)
    if (!flag.empty() && result::as_double(row.value) &&
        std::ranges::count(row.flags, flag, &Flag::text) == 0)
      row.flags.emplace_back(Flag::Kind::note, flag);
}

} // namespace recount::stat
