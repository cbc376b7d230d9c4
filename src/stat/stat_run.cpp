#include "stat/stat_run.hpp"

#include "base/format.hpp"
#include "perf/removed.hpp"
#include "process/spawn.hpp"
#include "process/waiter.hpp"
#include "stat/stat_plan.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <utility>

namespace recount::stat {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration of) {
  return std::chrono::duration<double>(of).count();
}

/// The counts of one or several processes, or, without any, of the plan's CPUs.
class Counting {
public:
  Counting(const Plan& plan, const std::vector<pid_t>& pids, Attached::When when) {
    for (const pid_t pid : pids)
      attached_.emplace_back(plan, pid, when);
    if (pids.empty()) attached_.emplace_back(plan);
  }
  void stop() {
    for (Attached& one : attached_)
      one.stop();
  }
  std::vector<Count> read() {
    std::vector<Count> sums = attached_.front().read();
    for (std::size_t i = 1; i < attached_.size(); ++i) {
      const auto more = attached_[i].read();
      for (std::size_t e = 0; e < sums.size(); ++e)
        add(sums[e], more[e]);
    }
    return sums;
  }

private:
  std::vector<Attached> attached_;
};

/// One repetition: from its beginning to its end, in intervals where they are asked for.
class Repetition : public Ticks {
public:
  /// `command`: that is counted; null: processes that run already are.
  Repetition(const Plan& plan, const Request& request, const Listener& listener, int number,
             Counting& counting, const process::Child* command)
      : plan_(plan),
        interval_(request.interval),
        listener_(listener),
        counting_(counting),
        command_(command),
        removed_at_exec_(command != nullptr &&
                         perf::removed_at_exec(process::find_program(request.command.front()).value_or(""))),
        first_(read()),
        last_(first_),
        begin_(Clock::now()),
        tick_(begin_ + interval_) {
    whole_.repetition = number;
  }

  /// When the next interval ends; none: there are none.
  [[nodiscard]] std::optional<Clock::time_point> next() const override {
    return interval_.count() > 0 ? std::optional(tick_) : std::nullopt;
  }
  void look() override {
    if (interval_.count() == 0 || Clock::now() < tick_) return;
    end_interval();
    while (tick_ <= Clock::now())
      tick_ += interval_; // one that was missed is part of the next
  }
  /// `exit`: of the command, where one was counted. `flag`: what is true of all counts; empty: nothing.
  Slice finish(const process::Exit& exit = {}, const std::string& flag = {}) {
    whole_.end = seconds(Clock::now() - begin_);
    const auto now = read();
    if (interval_.count() > 0) close_interval(now, whole_.end, true);
    fill(whole_, between(first_, now, removed_at_exec_));
    fill_usage(plan_, exit, whole_.rows);
    flag_all(whole_.rows, flag);
    return std::move(whole_);
  }

private:
  void end_interval() {
    const auto now = read();
    close_interval(now, seconds(Clock::now() - begin_), false);
  }
  Reading read() const {
    return stat::read([this] { return counting_.read(); }, command_);
  }
  void close_interval(const Reading& now, double end, bool ended) {
    Slice slice;
    slice.repetition = whole_.repetition;
    slice.interval = intervals_++;
    slice.begin = std::exchange(slice_begin_, end);
    slice.end = end;
    fill(slice, removed_at_exec_ ? between(last_, now, true) : between(first_, last_, now, ended));
    last_ = now;
    if (listener_) listener_(slice);
  }
  void fill(Slice& slice, Between counted) const {
    slice.counts = std::move(counted.counts);
    slice.rows = evaluate(plan_, slice.counts, slice.end - slice.begin);
    flag_all(slice.rows, counted.incomplete);
  }

  const Plan& plan_;
  std::chrono::milliseconds interval_;
  const Listener& listener_;
  Counting& counting_;
  const process::Child* command_;
  bool removed_at_exec_;
  Slice whole_;
  Reading first_, last_;
  Clock::time_point begin_, tick_;
  double slice_begin_ = 0;
  int intervals_ = 0;
};

/// A run, and how the command ended.
using CountedRun = std::pair<Slice, std::optional<process::Exit>>;

/// Counts the command from exec to end.
CountedRun count_command(const Plan& plan, const Request& request, const Listener& listener, int number,
                         const process::HeldSignals& signals, RunResult& ended) {
  process::Child child = start(request.command, true);
  Counting counting(plan, {child.pid()}, Attached::When::at_exec);
  const perf::Descendants descendants(child.pid());
  Repetition repetition(plan, request, listener, number, counting, &child);
  child.release();
  const process::Exit exit = attend(child, signals, ended.signal, repetition);
  return {repetition.finish(exit, descendants.any() ? perf::outlived : ""), exit};
}

/// Counts processes that run already, until they have ended, or CPUs, until a signal arrives; or for as long
/// as the command takes.
CountedRun count_others(const Plan& plan, const Request& request, const Listener& listener, int number,
                        const process::HeldSignals& signals, RunResult& ended) {
  Counting counting(plan, request.pids, Attached::When::at_once);
  Repetition repetition(plan, request, listener, number, counting, nullptr);
  std::optional<process::Exit> exit;
  if (!request.command.empty()) {
    process::Child child = start(request.command, false);
    exit = attend(child, signals, ended.signal, repetition);
  } else {
    process::Processes processes(request.pids);
    while ((request.pids.empty() || !processes.all_ended()) && ended.signal == 0) {
      processes.wait(signals, repetition.next());
      ended.signal = forward(signals, nullptr);
      repetition.look();
    }
  }
  counting.stop();
  return {repetition.finish(), exit};
}

} // namespace

std::vector<std::string> warnings(const Plan& plan, const Slice& slice) {
  std::map<std::string, std::string> missing, flags;
  const auto tell = [](auto& lines, const std::string& what, const std::string& name) {
    std::string& names = lines[what];
    names += (names.empty() ? "" : ", ") + name;
  };
  for (std::size_t r = 0; r < slice.rows.size(); ++r) {
    const result::Observation& row = slice.rows[r];
    if (!row.reason.empty() && plan.rows[r].refused.empty()) tell(missing, row.reason, row.metric);
    for (const Flag& flag : row.flags)
      tell(flags, flag.text, row.metric);
  }
  std::vector<std::string> lines;
  for (const auto& [why, names] : missing)
    lines.push_back(fmt::format("not counted: {}: {}", names, why));
  for (const auto& [flag, names] : flags)
    lines.push_back(fmt::format("{}: {}", names, flag));
  return lines;
}

Listener guard(const Listener& listener, std::exception_ptr& error) {
  return [&listener, &error](const Slice& slice) {
    if (!listener || error) return;
    try {
      listener(slice);
    } catch (...) {
      error = std::current_exception();
    }
  };
}

std::string how_cut_short(const RunResult& ended) {
  if (!ended.cut_short) return {};
  const std::string exit = ended.exit ? process::describe(*ended.exit) : std::string();
  return ended.signal == 0 ? exit : "interrupted" + (exit.empty() ? exit : ": " + exit);
}

std::string completed_text(const RunResult& ended) {
  if (!ended.cut_short || ended.requested == 1) return how_cut_short(ended);
  return fmt::format("{}: {} of {} completed", ended.signal != 0 ? "interrupted" : how_cut_short(ended),
                     ended.completed(), base::format_count(ended.requested, "run"));
}

std::string cut_short_flag(const RunResult& ended) {
  if (!ended.cut_short || ended.requested > 1) return {};
  return "incomplete: " + how_cut_short(ended);
}

int status_of(const RunResult& ended) {
  const int status = ended.exit ? process::shell_status(*ended.exit) : 0;
  return status == 0 && ended.cut_short && ended.requested > 1 ? 128 + ended.signal : status;
}

void take(RunResult& ended, const Request& request, Slice slice, const std::optional<process::Exit>& exit,
          const Listener& listener) {
  const bool failed = exit && !exit->ok();
  if (exit) ended.keep(*exit);
  ended.cut_short = !request.command.empty() && (ended.signal != 0 || (failed && !request.ignore_failure));
  if (ended.cut_short && ended.requested > 1) return;
  flag_all(slice.rows, cut_short_flag(ended));
  if (failed && !ended.cut_short) ++ended.failed;
  if (listener) listener(slice);
  ended.repetitions.push_back(std::move(slice));
}

RunResult run(const Plan& plan, const Request& request, const Listener& listener,
              const process::HeldSignals& signals) {
  RunResult ended;
  ended.requested = request.repeat;
  const Listener guarded = guard(listener, ended.error);
  const auto count = request.pids.empty() && plan.cpus.empty() ? count_command : count_others;
  for (int number = 0; number < request.repeat && ended.goes_on(); ++number) {
    auto [slice, exit] = count(plan, request, guarded, number, signals, ended);
    take(ended, request, std::move(slice), exit, guarded);
  }
  return ended;
}

process::Child start(const std::vector<std::string>& command, bool held,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     const std::vector<std::pair<int, int>>& descriptors) {
  process::Spawn spawn{command};
  spawn.environment = environment;
  spawn.descriptors = descriptors;
  spawn.in = STDIN_FILENO;
  spawn.inherits = true;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  return process::Child(spawn);
}

process::Exit attend(process::Child& child, const process::HeldSignals& signals, int& signal, Ticks& ticks) {
  process::Processes processes({child.pid()});
  try {
    while (true) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(0))) {
        if (const int arrived = forward(signals, nullptr))
          signal = arrived; // it may be what ended the command
        return *exit;
      }
      processes.wait(signals, ticks.next());
      if (const int arrived = forward(signals, &child)) signal = arrived;
      ticks.look();
    }
  } catch (...) {
    child.wait(); // an error of recount must not kill the command
    throw;
  }
}

namespace {

bool gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

} // namespace

void add(Count& sum, const Count& more) {
  if (more.value)
    sum.value = sum.value.value_or(0) + *more.value;
  else if (sum.reason.empty())
    sum.reason = more.reason;
  sum.enabled_ns += more.enabled_ns;
  sum.running_ns += more.running_ns;
}

void Attached::open(std::size_t group, const GroupOptions& options) {
  std::vector<Event> events;
  for (const std::size_t e : plan_.groups[group])
    events.push_back(plan_.events[e]);
  parts_.push_back({group, Group(std::move(events), options)});
}

bool Attached::attach(pid_t tid, const GroupOptions& options, bool start) {
  GroupOptions its = options;
  its.pid = tid;
  const auto first = static_cast<std::ptrdiff_t>(parts_.size());
  try {
    for (std::size_t group = 0; group < plan_.groups.size(); ++group)
      open(group, its);
  } catch (const Error&) {
    parts_.erase(parts_.begin() + first, parts_.end());
    if (gone(tid)) return false; // ended after it was listed
    throw;
  }
  for (auto part = parts_.begin() + first; start && part != parts_.end(); ++part)
    part->counts.start();
  return true;
}

Attached::Attached(const Plan& plan, pid_t pid, When when) : plan_(plan) {
  GroupOptions options;
  options.inherit = true;
  options.enable_on_exec = when == When::at_exec;
  const auto take = [&](pid_t tid) { return attach(tid, options, when == When::at_once); };
  if (process::each_thread(pid, take) == 0)
    throw bad_input("process " + std::to_string(pid), "there is no such process, or it has ended",
                    "ps -e lists the running processes");
}

Attached::Attached(const Plan& plan) : plan_(plan) {
  GroupOptions options;
  options.pid = -1;
  for (std::size_t group = 0; group < plan.groups.size(); ++group)
    for (const int cpu : cpus_of_group(plan, plan.groups[group])) {
      options.cpu = cpu;
      open(group, options);
    }
  for (Part& part : parts_)
    part.counts.start();
}

void Attached::stop() {
  for (Part& part : parts_)
    part.counts.stop();
}

std::vector<Count> Attached::read() {
  std::vector<Count> sums(plan_.events.size());
  for (Part& part : parts_) {
    const auto& counts = part.counts.read();
    for (std::size_t i = 0; i < counts.size(); ++i)
      add(sums[plan_.groups[part.group][i]], counts[i]);
  }
  for (Count& sum : sums)
    if (sum.value) sum.reason.clear(); // a thread that never ran contributes nothing
  return sums;
}

using std::chrono::nanoseconds;

namespace {
struct Stretch {
  Between made;
  nanoseconds enabled{0};
  nanoseconds used{0}; ///< at least: the readings themselves take time
};

Stretch stretch(const Reading& from, const Reading& to) {
  Stretch its;
  for (std::size_t e = 0; e < to.counts.size(); ++e) {
    its.made.counts.push_back(difference(to.counts[e], from.counts[e]));
    its.enabled = std::max(its.enabled, nanoseconds(its.made.counts.back().enabled_ns));
  }
  its.used = to.before - from.after;
  return its;
}

void remove(Between& made, const std::string& reason) {
  made.removed = reason;
  for (Count& count : made.counts) {
    if (reason.empty() || !count.value) continue;
    count.value.reset();
    count.reason = reason;
  }
}
} // namespace

Reading read(const std::function<std::vector<Count>()>& counters, const process::Child* command) {
  const auto used = [command] { return command ? command->cpu_time() : nanoseconds(0); };
  Reading reading;
  reading.before = used();
  reading.counts = counters();
  reading.after = used();
  return reading;
}

Between between(const Reading& first, const Reading& now, bool removed) {
  Stretch all = stretch(first, now);
  if (all.made.counts.empty() || (all.used <= nanoseconds(0) && !removed)) return all.made;
  if (removed || perf::removed(all.enabled, all.used))
    remove(all.made, perf::removed_reason(all.enabled, all.used));
  else
    all.made.incomplete = perf::removed_in_part(all.enabled, all.used);
  return all.made;
}

Between between(const Reading& first, const Reading& from, const Reading& now, bool ended) {
  // Processor time of an execve(2), which is not counted: an interval may begin or end in it. The first one
  // also takes down the memory of this process, which is large under a sanitizer.
  constexpr nanoseconds longest_exec{10'000'000}, longest_first{100'000'000};
  const bool begins_before = stretch(first, from).enabled == nanoseconds(0);
  Stretch part = stretch(from, now);
  if (!ended && now.before - first.after <= (begins_before ? longest_first : longest_exec))
    return part.made; // too early to tell
  if (!ended && part.used > longest_exec && perf::removed(part.enabled, part.used))
    remove(part.made, perf::removed_reason(part.enabled, part.used));
  else if (part.enabled < longest_exec)
    remove(part.made, between(first, now).removed);
  return part.made;
}

void flag_all(std::span<result::Observation> rows, const std::string& flag) {
  for (result::Observation& row : rows)
    if (!flag.empty() && result::as_double(row.value) &&
        std::ranges::count(row.flags, flag, &Flag::text) == 0)
      row.flags.emplace_back(Flag::Kind::note, flag);
}

} // namespace recount::stat
