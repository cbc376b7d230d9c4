#include "stat/stat_run.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command/measuring.hpp"
#include "command/print.hpp"
#include "perf/removed.hpp"
#include "process/child.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <poll.h>
#include <unistd.h>

namespace recount::stat {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

double seconds(Clock::duration of) {
  return std::chrono::duration<double>(of).count();
}

void add(Count& sum, const Count& more) {
  if (more.value)
    sum.value = sum.value.value_or(0) + *more.value;
  else if (sum.reason.empty())
    sum.reason = more.reason;
  sum.enabled_ns += more.enabled_ns;
  sum.running_ns += more.running_ns;
}

/// A thread that never ran contributes nothing.
void keep_reasons_of_missing(std::vector<Count>& sums) {
  for (Count& sum : sums)
    if (sum.value) sum.reason = {};
}

/// One repetition: from its beginning to its end, in intervals where they are requested.
class Repetition {
public:
  /// `command`: that is counted; null: processes or CPUs are.
  Repetition(const Plan& plan, const Request& request, const Execution& run, Attached& counters,
             const process::Child* command)
      : plan_(plan),
        interval_(request.interval),
        listener_(run.listener),
        counters_(counters),
        command_(command),
        removed_at_exec_(command != nullptr && perf::removed_at_exec(request.command.front())),
        first_(read()),
        last_(first_),
        begin_(Clock::now()),
        tick_(begin_ + interval_),
        control_(request.control) {
    whole_.repetition = run.repetition;
    if (request.delay) start_at_ = begin_ + *request.delay;
    if (request.limit) limit_at_ = begin_ + *request.limit;
    if (!request.place_name) return;
    for (const auto& [place, counts] : first_places_ = counters_.read_places())
      place_names_[place] = request.place_name(place);
  }

  /// Does what is due. When something is due again; none: never.
  std::optional<Clock::time_point> tick() {
    if (control_) control_->obey(counters_);
    if (start_at_ && Clock::now() >= *start_at_) {
      start_at_.reset();
      counters_.start();
    }
    if (limit_at_ && Clock::now() >= *limit_at_) {
      limit_at_.reset();
      limited_ = true;
      if (stoppable_) stoppable_->signal(SIGTERM);
    }
    std::optional<Clock::time_point> next = tick_interval();
    for (const auto& due : {start_at_, limit_at_})
      if (due && (!next || *due < *next)) next = due;
    return next;
  }
  /// The command that the time limit ends.
  void stop_at_limit(const process::Child& command) { stoppable_ = &command; }
  [[nodiscard]] bool limited() const { return limited_; }

  /// Ends the interval if its time has come. When the next one ends; none: there are no intervals.
  std::optional<Clock::time_point> tick_interval() {
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
    if (start_at_) too_late(whole_.rows);
    if (!place_names_.empty()) fill_places();
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

  static void too_late(std::vector<result::Observation>& rows) {
    for (result::Observation& row : rows)
      if (row.reason->code == ReasonCode::not_started) row.reason = "it ended before counting started (-D)";
  }
  void fill_places() {
    std::map<std::string, std::vector<Count>> sums;
    for (const auto& [place, counts] : counters_.read_places()) {
      std::vector<Count>& sum = sums[place_names_[place]];
      sum.resize(counts.size());
      for (std::size_t e = 0; e < counts.size(); ++e)
        add(sum[e], difference(counts[e], first_places_[place][e]));
    }
    for (auto& [name, counts] : sums) {
      keep_reasons_of_missing(counts);
      whole_.places[name] = evaluate(plan_, counts, whole_.end);
    }
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
  Control* control_;
  std::optional<Clock::time_point> start_at_, limit_at_;
  const process::Child* stoppable_ = nullptr;
  bool limited_ = false;
  std::map<int, std::vector<Count>> first_places_;
  std::map<int, std::string> place_names_;
};

/// A run, and how the command ended.
struct CountedRun {
  Slice slice;
  std::optional<process::Exit> exit;
  bool limited = false; ///< Request::limit ended it
};

int descriptor_of(const Request& request) {
  return request.control ? request.control->fd() : -1;
}

/// A command that its time limit ended has not failed.
CountedRun finished(Slice slice, std::optional<process::Exit> exit, const Repetition& repetition) {
  const bool limited = repetition.limited();
  if (limited && exit && exit->how == process::Exit::How::signalled && exit->code == SIGTERM) {
    exit->how = process::Exit::How::exited;
    exit->code = 0;
  }
  return {std::move(slice), exit, limited};
}

/// Counts the command from exec to end.
CountedRun count_command(const Plan& plan, const Request& request, const Companion& companion,
                         const Execution& run) {
  using When = Attached::When;
  process::Child child = start(request.command, true, {}, {}, request.silent);
  const auto finish = companion ? companion(child.pid()) : nullptr;
  Attached counters(plan, {child.pid()},
                    companion       ? When::at_once
                    : request.delay ? When::stopped
                                    : When::at_exec,
                    request.inherit);
  const perf::Descendants descendants(child.pid());
  // What is counted in part has nothing to be compared with the processor time of the command.
  const bool whole = request.inherit && !request.in_part();
  Repetition repetition(plan, request, run, counters, whole ? &child : nullptr);
  repetition.stop_at_limit(child);
  child.release();
  const process::Exit exit = wait_for_command(
      child, run.signals, run.ended.signal, [&] { return repetition.tick(); }, descriptor_of(request));
  const std::string flag = request.inherit && descendants.any() ? perf::outlived : "";
  CountedRun counted = finished(repetition.finish(exit, flag), exit, repetition);
  if (finish) finish();
  return counted;
}

/// Counts processes that run already, until they have ended, or CPUs, until a signal arrives; or for as long
/// as the command takes.
CountedRun count_others(const Plan& plan, const Request& request, const Execution& run) {
  Attached counters(plan, request.pids, request.delay ? Attached::When::stopped : Attached::When::at_once,
                    request.inherit, request.threads);
  Repetition repetition(plan, request, run, counters, nullptr);
  std::optional<process::Exit> exit;
  if (!request.command.empty()) {
    process::Child child = start(request.command, false, {}, {}, request.silent);
    repetition.stop_at_limit(child);
    exit = wait_for_command(
        child, run.signals, run.ended.signal, [&] { return repetition.tick(); }, descriptor_of(request));
  } else {
    process::Processes processes(request.pids);
    while ((request.pids.empty() || !processes.all_ended()) && run.ended.signal == 0) {
      const auto next = repetition.tick();
      if (repetition.limited()) break;
      processes.wait(run.signals, next, descriptor_of(request));
      run.ended.signal = forward(run.signals, nullptr);
    }
  }
  counters.stop();
  return finished(repetition.finish(), exit, repetition);
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
  return status == 0 && ended.cut_short && (ended.requested > 1 || !ended.exit) ? 128 + ended.signal : status;
}

namespace {
/// Calls the listener until it throws, and keeps what it threw.
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

/// Adds a run to the result; `exit`: of the command.
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

/// Executes Request::prepare. Whether the run may start: it neither failed nor was interrupted.
bool prepared(RunResult& ended, const Request& request, const process::HeldSignals& signals) {
  if (!request.prepare.empty()) {
    const process::Exit exit = execute(request.prepare, signals, ended.signal, {}, {}, request.silent);
    if (!exit.ok() && ended.signal == 0)
      ended.error =
          std::make_exception_ptr(unavailable("--prepare " + request.prepare.front(), process::describe(exit),
                                              {}, "correct this command: no run follows one that fails"));
  }
  ended.cut_short = ended.cut_short || ended.signal != 0;
  return ended.goes_on();
}
} // namespace

void warm_up(RunResult& ended, const Request& request, const process::HeldSignals& signals) {
  for (int number = 0; number < request.warm_up && ended.goes_on(); ++number) {
    if (!prepared(ended, request, signals)) return;
    const process::Exit exit = execute(request.command, signals, ended.signal, {}, {}, request.silent);
    ended.cut_short = ended.signal != 0 || (!exit.ok() && !request.ignore_failure);
    if (ended.cut_short) ended.keep(exit);
  }
}

Pass perf_pass(const Plan& plan, const Request& request, const Companion& companion) {
  return [&plan, &request, companion](const Execution& execution, Slice& slice) {
    CountedRun counted = request.pids.empty() && plan.cpus.empty()
                             ? count_command(plan, request, companion, execution)
                             : count_others(plan, request, execution);
    if (counted.limited) ++execution.ended.stopped;
    slice.end = counted.slice.end;
    slice.counts = std::move(counted.slice.counts);
    slice.places = std::move(counted.slice.places);
    for (std::size_t r = 0; r < plan.rows.size(); ++r)
      if (plan.rows[r].witness.empty()) slice.rows[r] = std::move(counted.slice.rows[r]);
    return counted.exit;
  };
}

void add_repetition(RunResult& ended, const Plan& plan, const Request& request,
                    const std::vector<Pass>& passes, int number, const process::HeldSignals& signals,
                    const Listener& listener) {
  Slice slice;
  slice.repetition = number;
  slice.rows = evaluate(plan, std::vector<Count>(plan.events.size()), 0);
  const auto begin = Clock::now();
  std::optional<process::Exit> exit;
  for (const Pass& pass : passes) {
    if (ended.signal != 0 || (exit && !exit->ok() && !request.ignore_failure)) break;
    if (!prepared(ended, request, signals)) return;
    const auto of_pass = pass({number, signals, listener, ended}, slice);
    if (!exit || exit->ok()) exit = of_pass;
  }
  if (slice.end == 0) slice.end = seconds(Clock::now() - begin);
  const double lasted = slice.end;
  take(ended, request, std::move(slice), exit, listener);
  if (request.progress) request.progress(number + 1, lasted);
}

RunResult run_passes(const Plan& plan, const Request& request, const std::vector<Pass>& passes, bool in_turn,
                     const Listener& listener) {
  RunResult all;
  all.requested = request.repeat;
  const Listener guarded = guard(listener, all.error);
  const process::HeldSignals signals;
  const std::vector<Pass> reversed(passes.rbegin(), passes.rend());
  warm_up(all, request, signals);
  for (int number = 0; number < request.repeat && all.goes_on(); ++number)
    add_repetition(all, plan, request, in_turn && number % 2 == 1 ? reversed : passes, number, signals,
                   guarded);
  return all;
}

RunResult run(const Plan& plan, const Request& request, const Listener& listener) {
  return run_passes(plan, request, {perf_pass(plan, request)}, false, listener);
}

process::Child start(const std::vector<std::string>& command, bool held,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     const std::vector<std::pair<int, int>>& descriptors, bool silent) {
  process::Spawn spawn{command};
  const process::Fd nowhere(silent ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1);
  if (silent) spawn.out = spawn.err = nowhere.get();
  spawn.environment = environment;
  spawn.descriptors = descriptors;
  spawn.in = STDIN_FILENO;
  spawn.inherits = true;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  return process::Child(spawn);
}

process::Exit execute(const std::vector<std::string>& command, const process::HeldSignals& signals,
                      int& signal, const std::vector<std::pair<std::string, std::string>>& environment,
                      const std::vector<std::pair<int, int>>& descriptors, bool silent) {
  process::Child child = start(command, false, environment, descriptors, silent);
  return wait_for_command(child, signals, signal);
}

process::Exit wait_for_command(process::Child& child, const process::HeldSignals& signals, int& signal,
                               const Tick& tick, int also) {
  process::Processes processes({child.pid()});
  try {
    while (true) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(0))) {
        if (const int arrived = forward(signals, nullptr))
          signal = arrived; // it may be what ended the command
        return *exit;
      }
      processes.wait(signals, tick ? tick() : std::nullopt, also);
      if (const int arrived = forward(signals, &child)) signal = arrived;
    }
  } catch (...) {
    child.wait(); // an error of recount must not kill the command
    throw;
  }
}

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

std::map<int, std::vector<Count>> Attached::read_places() {
  std::map<int, std::vector<Count>> all;
  for (Part& part : parts_) {
    std::vector<Count>& sums = all[part.place];
    sums.resize(plan_.events.size());
    const auto& counts = part.counts.read();
    for (std::size_t i = 0; i < counts.size(); ++i)
      add(sums[plan_.groups[part.group][i]], counts[i]);
  }
  return all;
}

std::vector<Count> Attached::read() {
  std::vector<Count> all(plan_.events.size());
  for (const auto& [place, counts] : read_places())
    for (std::size_t e = 0; e < counts.size(); ++e)
      add(all[e], counts[e]);
  keep_reasons_of_missing(all);
  return all;
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
  counted.removed = reason;
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
                               std::map<std::string, std::string> verdicts, bool append)
    : subject_(std::move(subject)) {
  if (path.empty()) return;
  result::Run header = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header.plan = std::move(plan);
  header.verdicts = std::move(verdicts);
  header.plan["kernel"] = "command";
  run_ = header.id;
  using Mode = result::Writer::Mode;
  writer_ = std::make_unique<result::Writer>(
      path, append && path != "-" && !result::holds_nothing(path) ? Mode::append : Mode::create);
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

namespace {

constexpr std::size_t longest_command = 64;
constexpr const char* example = "--control fd:3,4 or --control fifo:COMMANDS,REPLIES";

int parse_descriptor(const std::string& text, std::string_view number) {
  const auto fd = base::parse<int>(number);
  if (!fd || *fd < 0)
    throw bad_input("--control " + text, "is no descriptor: " + std::string(number), example);
  if (::fcntl(*fd, F_GETFD) < 0)
    throw bad_input("--control " + text, fmt::format("descriptor {} is not open", *fd),
                    "open it first: recount stat --control fd:3 ... 3<FILE");
  return *fd;
}

/// Opened for reading and writing, so that opening waits for nobody and the last writer does not end it
/// (fifo(7)).
process::Fd open_fifo(const std::string& text, std::string_view path) {
  process::Fd fd(::open(std::string(path).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd)
    throw bad_input("--control " + text, fmt::format("{} cannot be opened: {}", path, std::strerror(errno)),
                    fmt::format("mkfifo {}", path));
  return fd;
}

} // namespace

Control::Control(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const auto ends =
      base::split(std::string_view(text).substr(colon == text.npos ? text.size() : colon + 1), ',');
  if ((kind != "fd" && kind != "fifo") || ends.size() > 2 || ends.front().empty())
    throw bad_input("--control " + text, "is neither fd:N[,M] nor fifo:PATH[,PATH]", example);
  if (kind == "fd") {
    in_ = parse_descriptor(text, ends.front());
    if (ends.size() > 1) out_ = parse_descriptor(text, ends[1]);
    return;
  }
  own_in_ = open_fifo(text, ends.front());
  in_ = own_in_.get();
  if (ends.size() < 2) return;
  own_out_ = open_fifo(text, ends[1]);
  out_ = own_out_.get();
}

void Control::obey(Attached& counters) {
  char block[512];
  for (pollfd now{in_, POLLIN, 0}; in_ >= 0 && ::poll(&now, 1, 0) > 0;) {
    const ssize_t got = ::read(in_, block, sizeof block);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      in_ = -1;
      return;
    }
    rest_.append(block, static_cast<std::size_t>(got));
    for (auto end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n')) {
      obey(base::trim(std::string_view(rest_).substr(0, end)), counters);
      rest_.erase(0, end + 1);
    }
    if (rest_.size() > longest_command) rest_.erase(0, rest_.size() - longest_command);
  }
}

void Control::obey(std::string_view line, Attached& counters) {
  const std::string_view word = line.substr(0, line.find('\0')); // perf's own clients end it so
  if (word == "enable")
    counters.start();
  else if (word == "disable")
    counters.stop();
  else if (word != "ping") {
    command::note("recount stat: warning: --control: unknown command '{}' ignored\n", word);
    return;
  }
  if (out_ >= 0) static_cast<void>(::write(out_, "ack\n", 4) < 0); // its reader may be gone
}

} // namespace recount::stat
