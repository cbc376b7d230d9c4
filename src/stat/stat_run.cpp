#include "stat/stat_run.hpp"

#include "base/format.hpp"
#include "command/measuring.hpp"
#include "perf/removed.hpp"
#include "process/spawn.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <numeric>
#include <unistd.h>

namespace recount::stat {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

double seconds(Clock::duration of) {
  return std::chrono::duration<double>(of).count();
}

/// One repetition: from its beginning to its end, in intervals where they are requested.
class Repetition {
public:
  /// `command`: that is counted; null: processes or CPUs are.
  Repetition(const Plan& plan, const Request& request, const Listener& listener, int number,
             Attached& counters, const process::Child* command)
      : plan_(plan),
        interval_(request.interval),
        listener_(listener),
        counters_(counters),
        command_(command),
        removed_at_exec_(command != nullptr &&
                         perf::removed_at_exec(process::find_program(request.command.front()).value_or(""))),
        first_(read()),
        last_(first_),
        begin_(Clock::now()),
        tick_(begin_ + interval_) {
    whole_.repetition = number;
  }

  /// Ends the interval if its time has come. When the next one ends; none: there are no intervals.
  std::optional<Clock::time_point> tick() {
    if (interval_.count() == 0) return {};
    if (Clock::now() >= tick_) {
      const auto now = read();
      close_interval(now, seconds(Clock::now() - begin_), false);
    }
    while (tick_ <= Clock::now())
      tick_ += interval_; // one that was missed is part of the next
    return tick_;
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
  Reading read() const { return stat::read(counters_, command_); }
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
  Attached& counters_;
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
  Attached counters(plan, {child.pid()}, Attached::When::at_exec);
  const perf::Descendants descendants(child.pid());
  Repetition repetition(plan, request, listener, number, counters, &child);
  child.release();
  const process::Exit exit =
      wait_for_command(child, signals, ended.signal, [&] { return repetition.tick(); });
  return {repetition.finish(exit, descendants.any() ? perf::outlived : ""), exit};
}

/// Counts processes that run already, until they have ended, or CPUs, until a signal arrives; or for as long
/// as the command takes.
CountedRun count_others(const Plan& plan, const Request& request, const Listener& listener, int number,
                        const process::HeldSignals& signals, RunResult& ended) {
  Attached counters(plan, request.pids, Attached::When::at_once);
  Repetition repetition(plan, request, listener, number, counters, nullptr);
  std::optional<process::Exit> exit;
  if (!request.command.empty()) {
    process::Child child = start(request.command, false);
    exit = wait_for_command(child, signals, ended.signal, [&] { return repetition.tick(); });
  } else {
    process::Processes processes(request.pids);
    while ((request.pids.empty() || !processes.all_ended()) && ended.signal == 0) {
      processes.wait(signals, repetition.tick());
      ended.signal = forward(signals, nullptr);
    }
  }
  counters.stop();
  return {repetition.finish(), exit};
}

} // namespace

std::vector<std::string> warnings(const Plan& plan, const Slice& slice) {
  std::map<std::pair<bool, std::string>, std::vector<std::string>> names; // by whether counted, and text
  for (std::size_t r = 0; r < slice.rows.size(); ++r) {
    const result::Observation& row = slice.rows[r];
    if (!row.reason.empty() && plan.rows[r].refused.empty())
      names[{false, row.reason->text()}].push_back(row.metric);
    for (const Flag& flag : row.flags)
      names[{true, flag.text}].push_back(row.metric);
  }
  std::vector<std::string> lines;
  for (const auto& [text, rows] : names)
    lines.push_back(
        fmt::format("{}{}: {}", text.first ? "" : "not counted: ", fmt::join(rows, ", "), text.second));
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

process::Exit wait_for_command(process::Child& child, const process::HeldSignals& signals, int& signal,
                               const Tick& tick) {
  process::Processes processes({child.pid()});
  try {
    while (true) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(0))) {
        if (const int arrived = forward(signals, nullptr))
          signal = arrived; // it may be what ended the command
        return *exit;
      }
      processes.wait(signals, tick ? tick() : std::nullopt);
      if (const int arrived = forward(signals, &child)) signal = arrived;
    }
  } catch (...) {
    child.wait(); // an error of recount must not kill the command
    throw;
  }
}

namespace {

void add(Count& sum, const Count& more) {
  if (more.value)
    sum.value = sum.value.value_or(0) + *more.value;
  else if (sum.reason.empty())
    sum.reason = more.reason;
  sum.enabled_ns += more.enabled_ns;
  sum.running_ns += more.running_ns;
}

} // namespace

void Attached::open(std::size_t group, const GroupOptions& options) {
  std::vector<Event> events;
  for (const std::size_t e : plan_.groups[group])
    events.push_back(plan_.events[e]);
  parts_.push_back({group, Group(std::move(events), options)});
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

Attached::Attached(const Plan& plan, const std::vector<pid_t>& pids, When when) : plan_(plan) {
  if (pids.empty()) open_cpus();
  GroupOptions options;
  options.inherit = true;
  options.enable_on_exec = when == When::at_exec;
  const auto take = [&](pid_t tid) { return attach(tid, options, when == When::at_once); };
  for (const pid_t pid : pids)
    if (process::each_thread(pid, take) == 0)
      throw bad_input("process " + std::to_string(pid), "there is no such process, or it has ended",
                      "ps -e lists the running processes");
}

void Attached::open_cpus() {
  GroupOptions options;
  options.pid = -1;
  for (std::size_t group = 0; group < plan_.groups.size(); ++group)
    for (const int cpu : cpus_of_group(plan_, plan_.groups[group])) {
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
    if (sum.value) sum.reason = {}; // a thread that never ran contributes nothing
  return sums;
}

Reading read(Attached& counters, const process::Child* command) {
  const auto used = [command] { return command ? command->cpu_time() : nanoseconds(0); };
  Reading reading;
  reading.before = used();
  reading.counts = counters.read();
  reading.after = used();
  return reading;
}

namespace {
/// What was counted from one reading to another.
struct Stretch {
  Between counted;
  nanoseconds enabled{0};
  nanoseconds used{0}; ///< at least: the readings themselves take time

  Stretch(const Reading& from, const Reading& to) : used(to.before - from.after) {
    for (std::size_t e = 0; e < to.counts.size(); ++e) {
      counted.counts.push_back(difference(to.counts[e], from.counts[e]));
      enabled = std::max(enabled, nanoseconds(counted.counts.back().enabled_ns));
    }
  }
  [[nodiscard]] Reason removed_reason() const { return perf::removed_reason(enabled, used); }
};

/// Takes the values away, unless the reason is empty.
void remove(Between& counted, const Reason& reason) {
  counted.removed = reason.cause;
  for (Count& count : counted.counts)
    if (!reason.empty() && count.value) {
      count.value.reset();
      count.reason = reason;
    }
}
} // namespace

Between between(const Reading& first, const Reading& now, bool removed) {
  Stretch all(first, now);
  if (all.counted.counts.empty() || (all.used <= nanoseconds(0) && !removed)) return all.counted;
  if (removed || perf::removed(all.enabled, all.used))
    remove(all.counted, all.removed_reason());
  else
    all.counted.incomplete = perf::removed_in_part(all.enabled, all.used);
  return all.counted;
}

Between between(const Reading& first, const Reading& from, const Reading& now, bool ended) {
  // Processor time of an execve(2), which is not counted: an interval may begin or end in it. The first one
  // also takes down the memory of this process, which is large under a sanitizer.
  constexpr nanoseconds longest_exec{10'000'000}, longest_first{100'000'000};
  const bool begins_before = Stretch(first, from).enabled == nanoseconds(0);
  Stretch part(from, now);
  if (!ended && now.before - first.after <= (begins_before ? longest_first : longest_exec))
    return part.counted; // too early to tell
  if (!ended && part.used > longest_exec && perf::removed(part.enabled, part.used))
    remove(part.counted, part.removed_reason());
  else if (part.enabled < longest_exec)
    remove(part.counted, between(first, now).removed);
  return part.counted;
}

void flag_all(std::span<result::Observation> rows, const std::string& flag) {
  for (result::Observation& row : rows)
    if (!flag.empty() && result::as_double(row.value) &&
        std::ranges::count(row.flags, flag, &Flag::text) == 0)
      row.flags.emplace_back(Flag::Kind::note, flag);
}

Summary summarise(std::vector<double> values) {
  Summary s;
  s.values = std::move(values);
  const auto n = static_cast<double>(s.values.size());
  if (s.values.empty()) return s;
  s.mean = std::accumulate(s.values.begin(), s.values.end(), 0.0) / n;
  if (s.values.size() < 2) return s;
  double squares = 0;
  for (const double value : s.values)
    squares += (value - *s.mean) * (value - *s.mean);
  s.deviation = std::sqrt(squares / (n - 1));
  return s;
}

Summary summarise(std::span<const Slice> slices, std::size_t row) {
  std::vector<double> values;
  for (const Slice& slice : slices)
    if (const auto value = result::as_double(slice.rows[row].value)) values.push_back(*value);
  Summary s = summarise(std::move(values));
  s.missing = slices.size() - s.values.size();
  if (slices.empty()) s.reason = "no run completed";
  for (const Slice& slice : slices) {
    const result::Observation& o = slice.rows[row];
    if (s.reason.empty()) s.reason = o.reason;
    if (o.value.index() != 0 && o.enabled_ns && o.running_ns && *o.enabled_ns > 0)
      s.share = std::min(s.share, static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns));
    for (const Flag& flag : o.flags)
      if (std::ranges::find(s.flags, flag) == s.flags.end()) s.flags.push_back(flag);
  }
  return s;
}

CommandResults::CommandResults(const std::string& path, std::string subject,
                               std::map<std::string, std::string> plan,
                               std::map<std::string, std::string> verdicts)
    : subject_(std::move(subject)) {
  if (path.empty()) return;
  result::Run header = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header.plan = std::move(plan);
  header.verdicts = std::move(verdicts);
  header.plan["kernel"] = "command";
  run_ = header.id;
  writer_ = std::make_unique<result::Writer>(path, result::Writer::Mode::create);
  writer_->write(header);
}

CommandResults::~CommandResults() = default;

void CommandResults::write(const Slice& slice) {
  if (!writer_) return;
  result::Observation time;
  time.witness = Witness::clock;
  time.metric = "seconds";
  time.value = slice.end - slice.begin;
  write(time, slice);
  for (const result::Observation& o : slice.rows)
    write(o, slice);
}

void CommandResults::write(result::Observation o, const Slice& slice) {
  o.run = run_;
  o.kernel = "command";
  o.params["command"] = subject_;
  if (slice.interval) {
    o.params["interval"] = std::int64_t{*slice.interval};
    o.params["begin_us"] = static_cast<std::int64_t>(slice.begin * 1e6);
  }
  o.repetition = slice.repetition;
  o.seconds = slice.end - slice.begin;
  writer_->write(o);
}

void CommandResults::write(result::Section section) {
  if (!writer_) return;
  section.run = run_;
  section.kernel = "command";
  section.params["command"] = subject_;
  writer_->write(section);
}

} // namespace recount::stat
