// Running a command, or waiting for processes, while a plan's events count.
#pragma once

#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/process/input.hpp"
#include "base/process/waiter.hpp"
#include "model/trace/gates.hpp"
#include "run/attached.hpp"
#include "run/result/observation.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace recount::result {
class Writer;
}

namespace recount::stat {

/// A second witness of the same execution: called with the command that is held before exec and starts to
/// count it; what it returns is called when the command has ended. perf then counts from before exec on, too.
using Companion = std::function<std::function<void()>(pid_t command)>;

// recount stat --control: another program, or the counted one, says when to count.

/// Commands, a line each, from a descriptor or FIFO: "enable", "disable" and "ping", as in perf-stat(1). Each
/// is acknowledged with "ack\n" where a second descriptor was given. Not thread-safe.
class Control {
public:
  /// Called with a line that is no command.
  using Ignored = std::function<void(std::string_view line)>;
  /// "fd:N[,M]" or "fifo:PATH[,PATH]". Throws Error (bad_input).
  Control(const std::string& text, Ignored ignored);
  virtual ~Control() = default;

  [[nodiscard]] virtual int fd() const { return in_; } ///< to wait for; -1: its writers have closed it
  /// Carries out what has arrived. Never waits.
  virtual void obey(Attached& counters);
  /// The program's end, see process::Spawn.
  [[nodiscard]] virtual std::vector<std::pair<int, int>> descriptors() const { return {}; }

protected:
  Control() = default;

private:
  void obey(std::string_view line, Attached& counters);
  process::Fd own_in_, own_out_; ///< of FIFOs
  int in_ = -1, out_ = -1;
  std::string rest_; ///< of a line
  Ignored ignored_;
};

/// A socket pair for messages on sections (recount/sections.h), whose boundaries it preserves. The program's
/// end does not block; it drops messages that do not fit.
class SectionSocket {
public:
  /// Throws Error (unavailable).
  SectionSocket();
  [[nodiscard]] int program_end() const noexcept { return program_end_.get(); }
  void started() { program_end_.reset(); } ///< the program holds its own copy
  /// To poll; -1 after all writers have closed it.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// Reads at most a thousand messages.
  void read(const std::function<void(std::string_view message)>& take);

private:
  process::Fd fd_, program_end_;
};

/// Counts while a section of the program is open.
class MarkedSection : public Control {
public:
  explicit MarkedSection(const std::string& name) : name_(name), gate_(name) {}
  [[nodiscard]] int fd() const override { return socket_.fd(); }
  void obey(Attached& counters) override;
  [[nodiscard]] std::vector<std::pair<int, int>> descriptors() const override;
  /// How long it was open, by the times of its messages; up to now where it still is.
  [[nodiscard]] double seconds() const;
  /// Why it has no time or no counts; empty: it has. A program does not wait for its counters: they start and
  /// stop late by one hundredth of the section at most.
  [[nodiscard]] std::string missing(bool counts) const;

private:
  std::string name_;
  SectionSocket socket_;
  trace::SectionGate gate_;
  bool lost_ = false;
  double lasted_ = 0, late_ = 0; ///< nanoseconds
};

/// The end of what silent commands write to stderr, through a pipe: of any length, and without waiting.
class ErrorTail {
public:
  ErrorTail();
  /// Forgets the text. Returns the stderr of the next command.
  [[nodiscard]] int begin();
  [[nodiscard]] int fd() const { return pipe_.read.get(); } ///< to wait for
  /// Takes what the pipe holds. Whether it held little: a wake-up for each line would disturb the counts.
  bool read();
  /// The last lines that are not empty, at most 5.
  [[nodiscard]] std::vector<std::string> lines() const;

private:
  process::Pipe pipe_;
  std::string text_;
};

/// What a command reads and writes.
struct Streams {
  int in = STDIN_FILENO;       ///< -1: /dev/null
  bool silent = false;         ///< its output goes to /dev/null
  ErrorTail* errors = nullptr; ///< except its stderr
};

struct Request {
  std::vector<std::string>
      command;             ///< may be empty with pids and CPUs; it is then not counted, only waited for
  std::vector<pid_t> pids; ///< empty: the command is counted, or the plan's CPUs
  int repeat = 1;
  std::chrono::milliseconds interval{0};   ///< 0: only whole repetitions
  std::string section = {};                ///< a model simulates only this one; empty: everything
  std::string from = {}, to = {};          ///< and only between these functions, see trace::FunctionRange
  long sample = 0;                         ///< of so many windows of accesses, a model simulates one; 0: all
  bool ignore_failure = false;             ///< a run of the command that fails is a repetition, too
  bool inherit = true;                     ///< also what the counted threads start
  bool threads = false;                    ///< `pids` are threads, each counted alone
  long warm_up = 0;                        ///< runs before the first, which are not counted
  std::vector<std::string> prepare = {};   ///< executed before each run; empty: nothing
  bool silent = false;                     ///< the output of all of them goes to /dev/null
  std::shared_ptr<ErrorTail> errors = {};  ///< except the stderr of the command
  process::Input input = process::Input(); ///< of the command
  std::optional<std::chrono::milliseconds> delay = {}; ///< counting starts so long after the command
  std::optional<std::chrono::milliseconds> limit = {}; ///< then the command gets SIGTERM, or counting ends
  Control* control = nullptr;                          ///< starts and stops counting; not owned
  /// The name of a CPU or thread whose counts are reported apart; equal names are added. Empty: none are.
  std::function<std::string(int place)> place_name = {};
  std::function<void(int done, double seconds)> progress = {}; ///< called after each repetition
  /// Whether counting is limited otherwise than by exec and exit.
  [[nodiscard]] bool in_part() const { return delay.has_value() || control != nullptr; }
  [[nodiscard]] Streams streams() const { return {input.fd(), silent, errors.get()}; }
};

struct RunResult {
  int requested = 1;                 ///< runs
  std::vector<Slice> repetitions;    ///< runs that completed, or the only requested one, then flagged
  std::optional<process::Exit> exit; ///< of the command: the last that failed, else the last
  int signal = 0;                    ///< that ended the waiting or the repetitions; 0: none
  bool cut_short = false;            ///< the last run was interrupted (`signal`) or failed (`exit`)
  std::size_t failed = 0;            ///< repetitions that failed (Request::ignore_failure)
  std::size_t stopped = 0;           ///< repetitions that Request::limit ended
  std::exception_ptr error = {};     ///< thrown by the listener: it was not called again, no run followed
  std::vector<std::string> last_lines = {}; ///< on stderr, of the last run that failed (Request::errors)
  [[nodiscard]] std::size_t completed() const { return cut_short && requested == 1 ? 0 : repetitions.size(); }
  /// Whether another run may follow.
  [[nodiscard]] bool goes_on() const { return !cut_short && signal == 0 && !error; }
  void keep(const process::Exit& of, const Request& request) {
    if (!exit || !of.ok() || exit->ok()) exit = of;
    if (!of.ok() && signal == 0 && request.errors) last_lines = request.errors->lines();
  }
};

/// "interrupted: killed by signal 2 (SIGINT)", "exit status 1"; empty: not cut short.
[[nodiscard]] std::string interruption_text(const RunResult& ended);
/// "interrupted: 1 of 5 runs completed"; of a single run interruption_text(). Empty: not cut short.
[[nodiscard]] std::string completed_text(const RunResult& ended);
/// The fix of a run that failed.
inline constexpr const char* keep_failures = "-i also counts runs that fail";
/// The flag of the values of a single run that was cut short; else empty.
[[nodiscard]] std::string cut_short_flag(const RunResult& ended);
/// The exit status of recount: of the command; of several runs that were interrupted, 128 + the signal.
[[nodiscard]] int exit_status(const RunResult& ended);

/// Rows that were not counted although possible, and incomplete counts: one line each, with the row names.
[[nodiscard]] std::vector<std::string> warnings(const Plan& plan, const Slice& slice);

/// Called with each interval and, after its intervals, each repetition.
using Listener = std::function<void(const Slice&)>;

/// A run of a repetition, and whom to report to.
struct Execution {
  int repetition;
  const process::HeldSignals& signals;
  const Listener& listener; ///< of intervals
  RunResult& ended;         ///< its signal, and how many runs were stopped
};
/// One execution of the command for a repetition, by one witness, which fills its rows of the slice. How the
/// command ended.
using Pass = std::function<std::optional<process::Exit>(const Execution& execution, Slice& slice)>;
/// The execution that perf counts, alone or with a companion.
[[nodiscard]] Pass perf_pass(const Plan& plan, const Request& request, const Companion& companion = {});

/// Executes each pass once per repetition; `in_turn`: every second repetition in reverse order, so that a
/// slow change of the machine affects all alike. The command has this process's terminal and output, and each
/// execution reads the same input; a terminal's Ctrl-C reaches both, and this waits for the command; signals
/// from other processes are forwarded. A run that was interrupted or failed is the last one and no
/// repetition. Throws Error as Attached does, process::CannotRun for the command.
[[nodiscard]] RunResult run_passes(const Plan& plan, const Request& request, const std::vector<Pass>& passes,
                                   bool in_turn, const Listener& listener);
/// The same by perf alone.
[[nodiscard]] RunResult run(const Plan& plan, const Request& request, const Listener& listener);

/// The runs before the first. One that is interrupted or fails is the last.
void warm_up(RunResult& ended, const Request& request, const process::HeldSignals& signals);
/// Adds a repetition; `listener` gets it after its intervals.
void add_repetition(RunResult& ended, const Plan& plan, const Request& request,
                    const std::vector<Pass>& passes, int number, const process::HeldSignals& signals,
                    const Listener& listener = {});

/// A row over all repetitions. Of ratios, too, the mean is that of the repetitions' ratios.
struct RowSummary {
  std::vector<double> values;      ///< of the repetitions that have one
  std::optional<double> mean;      ///< none: no repetition has a value
  std::optional<double> deviation; ///< standard deviation of a sample; none with fewer than two values
  double share = 1;                ///< scheduled share of the time: minimum over repetitions
  std::size_t missing = 0;         ///< repetitions without value
  Reason reason;                   ///< the first reason why
  std::vector<Flag> flags;         ///< each once
};

/// Over the same row of each slice.
[[nodiscard]] RowSummary summarise(std::span<const Slice> slices, std::size_t row);
/// Over given values.
[[nodiscard]] RowSummary summarise(std::vector<double> values);

// Starting a command with this process's terminal, and waiting for it.

/// Called while a command runs; returns when to call it next, at the latest; none: at no certain time.
using Tick = std::function<std::optional<std::chrono::steady_clock::time_point>()>;

/// The process group is this process's; `held`: see process::Spawn. Throws as process::Child.
[[nodiscard]] process::Child start(const std::vector<std::string>& command, bool held,
                                   const std::vector<std::pair<std::string, std::string>>& environment = {},
                                   const std::vector<std::pair<int, int>>& descriptors = {},
                                   Streams streams = {});

/// Starts a command, not held, and waits for it.
process::Exit execute(const std::vector<std::string>& command, const process::HeldSignals& signals,
                      int& signal, const std::vector<std::pair<std::string, std::string>>& environment = {},
                      const std::vector<std::pair<int, int>>& descriptors = {}, Streams streams = {});

/// Waits for the command and forwards signals to it; the last one is left in `signal`. Exceptions of `tick`
/// are rethrown after its end. `also`: a descriptor at whose input the tick is called, too; -1: none.
/// `errors`: is read meanwhile.
process::Exit wait_for_command(process::Child& child, const process::HeldSignals& signals, int& signal,
                               const Tick& tick = {}, int also = -1, ErrorTail* errors = nullptr);

// Results of the kernel "command".

/// Writes recount-results(5); does nothing without a file. Throws as result::Writer does.
class CommandResults {
public:
  /// `plan`: the requested settings besides the subject (the command line or the processes).
  /// `append`: to a results file, if it is there.
  CommandResults(const std::string& path, std::string subject, std::map<std::string, std::string> plan,
                 bool append = false);
  ~CommandResults();
  void write(const stat::Slice& slice);
  /// Run, kernel and params are filled in.
  void write(result::Section section);

private:
  void write(result::Observation observation, const stat::Slice& slice);
  std::string subject_, run_;
  std::unique_ptr<result::Writer> writer_;
};

} // namespace recount::stat
