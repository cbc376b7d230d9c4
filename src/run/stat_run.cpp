#include "run/stat_run.hpp"

#include "base/clock.hpp"
#include "base/errno_fix.hpp"
#include "base/format.hpp"
#include "base/process/child.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "count/perf/removed.hpp"
#include "kernel/command_line.hpp"
#include "run/result/results_file.hpp"
#include "run/witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace recount::stat {
namespace {

using Clock = std::chrono::steady_clock;

/// One counted run, with its intervals if they are requested.
class Repetition {
public:
  /// `command`: the counted command; null when processes or CPUs are counted.
  Repetition(const Plan& plan, const Request& request, const Execution& run, Attached& counters,
             const process::Child* command)
      : plan_(plan),
        run_(run),
        counters_(counters),
        intervals_(plan, counters, command,
                   command != nullptr && perf::removed_at_exec(request.command.front()), request.interval),
        control_(request.control) {
    if (request.delay) start_at_ = intervals_.begin() + *request.delay;
    if (request.limit) limit_at_ = intervals_.begin() + *request.limit;
    if (!request.place_name) return;
    for (const auto& [place, counts] : first_places_ = counters_.places())
      place_names_[place] = request.place_name(place);
  }

  /// Runs due actions. Returns the time of the next one, if any.
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
    if (intervals_.due() && Clock::now() >= *intervals_.due()) close_interval(false);
    std::optional<Clock::time_point> next = intervals_.due();
    for (const auto& due : {start_at_, limit_at_})
      if (due && (!next || *due < *next)) next = due;
    return next;
  }
  /// The command that the time limit ends.
  void stop_at_limit(const process::Child& command) { stoppable_ = &command; }
  [[nodiscard]] bool limited() const { return limited_; }

  /// `exit`: of the counted command, if any. `flag`: of all rows; may be empty.
  Slice finish(const process::Exit& exit = {}, const std::string& flag = {}) {
    if (control_) control_->obey(counters_);
    close_interval(true);
    Slice whole = intervals_.total();
    whole.repetition = run_.repetition;
    if (start_at_) mark_not_started(whole.rows);
    if (!place_names_.empty()) fill_places(whole);
    fill_usage(plan_, exit, whole.rows);
    flag_all(whole.rows, flag);
    return whole;
  }

private:
  void close_interval(bool ended) {
    Slice slice = intervals_.next(ended);
    slice.repetition = run_.repetition;
    if (intervals_.due() && run_.listener) run_.listener(slice);
  }
  static void mark_not_started(std::vector<result::Observation>& rows) {
    for (result::Observation& row : rows)
      if (row.reason->code == ReasonCode::not_started) row.reason = "it ended before counting started (-D)";
  }
  void fill_places(Slice& whole) {
    std::map<std::string, std::vector<Count>> sums;
    for (const auto& [place, counts] : counters_.places()) {
      std::vector<Count>& sum = sums[place_names_[place]];
      sum.resize(counts.size());
      for (std::size_t e = 0; e < counts.size(); ++e)
        add(sum[e], difference(counts[e], first_places_[place][e]));
    }
    for (const auto& [name, counts] : sums)
      whole.places[name] = evaluate(plan_, counts, whole.end);
  }

  const Plan& plan_;
  const Execution& run_;
  Attached& counters_;
  IntervalCounter intervals_;
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
CountedRun make_counted_run(Slice slice, std::optional<process::Exit> exit, const Repetition& repetition) {
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
  process::Child child =
      start(request.command, true, {},
            request.control ? request.control->descriptors() : std::vector<std::pair<int, int>>(),
            request.streams());
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
      child, run.signals, run.ended.signal, [&] { return repetition.tick(); }, descriptor_of(request),
      request.errors.get());
  const std::string flag = request.inherit && descendants.any() ? perf::outlived : "";
  CountedRun counted = make_counted_run(repetition.finish(exit, flag), exit, repetition);
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
    process::Child child = start(request.command, false, {}, {}, request.streams());
    repetition.stop_at_limit(child);
    exit = wait_for_command(
        child, run.signals, run.ended.signal, [&] { return repetition.tick(); }, descriptor_of(request),
        request.errors.get());
  } else {
    process::Processes processes(request.pids);
    while ((request.pids.empty() || !processes.all_ended()) && run.ended.signal == 0) {
      const auto next = repetition.tick();
      if (repetition.limited()) break;
      processes.wait(run.signals, next, {descriptor_of(request)});
      run.ended.signal = forward(run.signals, nullptr);
    }
  }
  counters.stop();
  return make_counted_run(repetition.finish(), exit, repetition);
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

std::string interruption_text(const RunResult& ended) {
  if (!ended.cut_short) return {};
  const std::string exit = ended.exit ? process::describe(*ended.exit) : std::string();
  return ended.signal == 0 ? exit : "interrupted" + (exit.empty() ? exit : ": " + exit);
}

std::string completed_text(const RunResult& ended) {
  if (!ended.cut_short || ended.requested == 1) return interruption_text(ended);
  return fmt::format("{}: {} of {} completed", ended.signal != 0 ? "interrupted" : interruption_text(ended),
                     ended.completed(), base::format_count(ended.requested, "run"));
}

std::string cut_short_flag(const RunResult& ended) {
  if (!ended.cut_short || ended.requested > 1) return {};
  return "incomplete: " + interruption_text(ended);
}

int exit_status(const RunResult& ended) {
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

/// Adds a run to the result. `exit`: of the command.
void add_run(RunResult& ended, const Request& request, Slice slice, const std::optional<process::Exit>& exit,
             const Listener& listener) {
  const bool failed = exit && !exit->ok();
  if (exit) ended.keep(*exit, request);
  ended.cut_short = !request.command.empty() && (ended.signal != 0 || (failed && !request.ignore_failure));
  if (ended.cut_short && ended.requested > 1) return;
  flag_all(slice.rows, cut_short_flag(ended));
  if (failed && !ended.cut_short) ++ended.failed;
  if (listener) listener(slice);
  ended.repetitions.push_back(std::move(slice));
}

/// Executes Request::prepare, which reads nothing, and rewinds the input. False if it failed or was
/// interrupted: no run follows.
bool prepare_run(RunResult& ended, const Request& request, const process::HeldSignals& signals) {
  if (!request.prepare.empty()) {
    const process::Exit exit = execute(request.prepare, signals, ended.signal, {}, {}, {-1, request.silent});
    if (!exit.ok() && ended.signal == 0)
      ended.error =
          std::make_exception_ptr(unavailable("--prepare " + request.prepare.front(), process::describe(exit),
                                              {}, "run it alone: " + kernel::quoted(request.prepare)));
  }
  request.input.rewind();
  ended.cut_short = ended.cut_short || ended.signal != 0;
  return ended.goes_on();
}
} // namespace

void warm_up(RunResult& ended, const Request& request, const process::HeldSignals& signals) {
  for (int number = 0; number < request.warm_up && ended.goes_on(); ++number) {
    if (!prepare_run(ended, request, signals)) return;
    const process::Exit exit = execute(request.command, signals, ended.signal, {}, {}, request.streams());
    ended.cut_short = ended.signal != 0 || (!exit.ok() && !request.ignore_failure);
    if (ended.cut_short) ended.keep(exit, request);
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
    if (!prepare_run(ended, request, signals)) return;
    const auto of_pass = pass({number, signals, listener, ended}, slice);
    if (!exit || exit->ok()) exit = of_pass;
  }
  if (slice.end == 0) slice.end = std::chrono::duration<double>(Clock::now() - begin).count();
  const double lasted = slice.end;
  add_run(ended, request, std::move(slice), exit, listener);
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
                     const std::vector<std::pair<int, int>>& descriptors, Streams streams) {
  process::Spawn spawn{command};
  const process::Fd null_output = streams.silent ? process::null_output() : process::Fd();
  if (streams.silent) spawn.out = spawn.err = null_output.get();
  if (streams.errors != nullptr) spawn.err = streams.errors->begin();
  spawn.environment = environment;
  spawn.descriptors = descriptors;
  spawn.in = streams.in;
  spawn.inherits = true;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  return process::Child(spawn);
}

process::Exit execute(const std::vector<std::string>& command, const process::HeldSignals& signals,
                      int& signal, const std::vector<std::pair<std::string, std::string>>& environment,
                      const std::vector<std::pair<int, int>>& descriptors, Streams streams) {
  process::Child child = start(command, false, environment, descriptors, streams);
  return wait_for_command(child, signals, signal, {}, -1, streams.errors);
}

process::Exit wait_for_command(process::Child& child, const process::HeldSignals& signals, int& signal,
                               const Tick& tick, int also, ErrorTail* errors) {
  process::Processes processes({child.pid()});
  try {
    while (true) {
      const auto exit = child.wait_for(std::chrono::milliseconds(0));
      const bool trickles = errors != nullptr && errors->read();
      if (exit) {
        if (const int arrived = forward(signals, nullptr))
          signal = arrived; // it may be what ended the command
        return *exit;
      }
      auto until = tick ? tick() : std::nullopt;
      const auto soon = Clock::now() + std::chrono::milliseconds(1);
      if (trickles) until = std::min(until.value_or(soon), soon);
      processes.wait(signals, until, {also, errors == nullptr || trickles ? -1 : errors->fd()});
      if (const int arrived = forward(signals, &child)) signal = arrived;
    }
  } catch (...) {
    while (!child.wait_for(std::chrono::milliseconds(10))) // an error of recount must not kill the command
      if (errors != nullptr) errors->read();
    throw;
  }
}

ErrorTail::ErrorTail() {
  ::fcntl(fd(), F_SETFL, O_NONBLOCK);
}

bool ErrorTail::read() {
  constexpr ssize_t kept = 4096;
  char block[1 << 16]; // what a pipe holds
  const ssize_t got = ::read(fd(), block, sizeof block);
  if (got > 0) text_.append(block, static_cast<std::size_t>(got));
  if (std::ssize(text_) > kept) text_.erase(0, text_.size() - kept);
  return got > 0 && got < kept;
}

int ErrorTail::begin() {
  read();
  text_.clear();
  return pipe_.write.get();
}

std::vector<std::string> ErrorTail::lines() const {
  constexpr std::size_t most = 5;
  std::vector<std::string> all;
  for (const std::string_view line : base::split(text_, '\n'))
    if (!base::trim(line).empty()) all.emplace_back(line);
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(std::min(most, all.size())));
  return all;
}

RowSummary summarise(std::vector<double> values) {
  RowSummary s;
  s.values = std::move(values);
  if (!s.values.empty()) s.mean = statistics::mean(s.values);
  if (s.values.size() > 1) s.deviation = statistics::standard_deviation(s.values);
  return s;
}

RowSummary summarise(std::span<const Slice> slices, std::size_t row) {
  std::vector<double> values;
  for (const Slice& slice : slices)
    if (const auto value = result::as_double(slice.rows[row].value)) values.push_back(*value);
  RowSummary s = summarise(std::move(values));
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
                               std::map<std::string, std::string> plan, bool append)
    : subject_(std::move(subject)) {
  if (path.empty()) return;
  result::Run header = witness::machine_header(process::command_line(), RECOUNT_VERSION);
  header.plan = std::move(plan);
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
                    errno == ENOENT ? fmt::format("mkfifo {}", path) : base::errno_fix(errno));
  return fd;
}

} // namespace

Control::Control(const std::string& text, Ignored ignored) : ignored_(std::move(ignored)) {
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
    ignored_(word);
    return;
  }
  if (out_ >= 0) static_cast<void>(::write(out_, "ack\n", 4) < 0); // its reader may be gone
}

SectionSocket::SectionSocket() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw unavailable("socketpair", std::strerror(errno), {}, base::errno_fix(errno));
  fd_.reset(ends[0]);
  program_end_.reset(ends[1]);
}

void SectionSocket::read(const std::function<void(std::string_view)>& take) {
  char text[4096];
  for (int i = 0; i < 1000 && fd_; ++i) {
    const ssize_t size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return fd_.reset(); // all writers have closed it
    take({text, static_cast<std::size_t>(size)});
  }
}

namespace {
double now_ns() {
  return static_cast<double>(base::clock_ns(CLOCK_MONOTONIC));
}
} // namespace

void MarkedSection::obey(Attached& counters) {
  socket_.read([&](std::string_view message) {
    for (const std::string_view text : base::split(message, '\n')) {
      const base::SectionLine line = base::parse_section_line(text);
      lost_ = lost_ || line.edge == "dropped";
      const bool was_open = gate_.open();
      gate_.take(text);
      if (gate_.open() == was_open) continue;
      was_open ? counters.stop() : counters.start();
      const double now = now_ns(), at = line.time ? std::min(static_cast<double>(*line.time), now) : now;
      lasted_ += was_open ? at : -at;
      late_ += now - at;
    }
  });
}

std::vector<std::pair<int, int>> MarkedSection::descriptors() const {
  return {{socket_.program_end(), process::free_descriptor()}};
}

double MarkedSection::seconds() const {
  return (lasted_ + (gate_.open() ? now_ns() : 0)) / 1e9;
}

std::string MarkedSection::missing(bool counts) const {
  if (lost_) return "marks of the program were lost: it sent more than recount could read";
  if (seconds() <= 0) return "the program never began the section " + name_;
  if (!counts || late_ <= seconds() * 1e7) return {};
  return fmt::format("the section {} is too short: open for {:.6g} ms, and its counters started and stopped "
                     "{:.3g} ms late",
                     name_, seconds() * 1e3, late_ / 1e6);
}

} // namespace recount::stat
