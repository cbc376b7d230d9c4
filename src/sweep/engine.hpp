// Executes a plan: every run in a fresh process, results handed over as they are made.
#pragma once

#include "command/command.hpp"
#include "kernel/kernel.hpp"
#include "result/observation.hpp"
#include "result/results_file.hpp"
#include "sweep/sweep_plan.hpp"
#include "witness/backend.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::sweep {

/// How to execute a plan.
struct Execution {
  /// The program that serves a run: reads a request on stdin, writes result lines to stdout (see serve()).
  std::vector<std::string> program{"/proc/self/exe", "run-point"};
  std::string run;                         ///< id that observations will carry
  std::optional<int> cpu;                  ///< pinned to it; absent: not pinned
  std::chrono::milliseconds limit{60'000}; ///< a timed run that takes longer is killed and recorded as failed
  std::optional<std::chrono::milliseconds>
      model_limit;  ///< the same of a model run, in CPU time; absent: none
  int parallel = 1; ///< model runs at a time; timed ones are always alone
};

/// How far a sweep is.
struct Progress {
  std::size_t done = 0, total = 0; ///< runs
  std::size_t failed = 0;
  std::chrono::nanoseconds elapsed{};
  std::optional<std::chrono::nanoseconds> remaining; ///< estimate; absent until something is known
  const Job* job = nullptr;                          ///< the last one that ended, or one under way
  std::optional<double> simulated;                   ///< share of `job` that is simulated, if reported
};

/// What the engine calls, from its own thread, never while a timed run is under way. Any may be empty.
struct Listener {
  std::function<void(const result::Observation&)> observation;
  std::function<void(const result::Failure&)> failure;
  std::function<void(const Progress&)> progress; ///< after each run, and each second of a long simulation
  std::function<bool()> stop;                    ///< true: end after killing what is in flight; called often
};

/// A model run that was under way when the sweep was stopped.
struct Unfinished {
  Job job;
  double simulated = 0; ///< share of the simulation that was done
};

/// How it ended.
struct Outcome {
  std::size_t observations = 0, failures = 0, runs = 0;
  bool stopped = false;               ///< by Listener::stop
  std::vector<Unfinished> unfinished; ///< when it was stopped
  std::chrono::nanoseconds elapsed{}; ///< of the whole
  /// Per run, what its process took beside preparing, warming and measuring the kernel.
  std::vector<std::chrono::nanoseconds> overheads;
};

/// Executes the jobs in order, whatever their kernels. A run that crashes, hangs past its limit or answers
/// invalid lines is a Failure and the sweep goes on. Exceptions from the listener (disk full) kill what is in
/// flight and pass through. One sweep at a time in a process.
Outcome execute(const std::vector<Job>& jobs, const Execution& execution, const Listener& listener);

/// The jobs that a file does not yet hold: each is left with the metrics that are missing. A failure of a
/// job counts as its result.
[[nodiscard]] std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& recorded);

/// Takes --timeout, in seconds: the wall time of a timed run (by default `default_timeout`) and the CPU time
/// of a model run (by default without limit).
void limit_runs(Execution& execution, const std::string& timeout, std::chrono::seconds default_timeout);

// How far a sweep is: one line on a terminal, a line a minute elsewhere.

/// "37 of 120 runs, 2 failed, 12 s, about 25 s left".
[[nodiscard]] std::string show_progress(const sweep::Progress& progress);

/// Writes to stderr. On a terminal the line is written over itself, ten times a second at most.
class ProgressLine {
public:
  explicit ProgressLine(bool quiet, std::string command = "sweep");
  void show(const sweep::Progress& progress);
  void clear(); ///< before anything else is written to the terminal

private:
  std::string command_;
  bool quiet_, terminal_, shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// The worker process that serves one run of the engine.

/// Kernel by name; a test adds kernels of its own.
using Lookup = std::function<const kernel::Kernel&(const std::string&)>;

/// A task as a line of JSON and back. parse_request() throws recount::Error (bad_input) for other text.
[[nodiscard]] std::string to_request(const witness::Task& task);
[[nodiscard]] witness::Task parse_request(std::string_view text);

/// Reads a request from descriptor `in`, prepares the kernel, runs it once as a warm-up and measures it.
/// Writes one observation per line to descriptor `out`, then {"type":"done","kernel_seconds":S}, or
/// failed_line() after a recount::Error. Returns the exit status of the process.
int serve(int in, int out, const Lookup& lookup);

// The answer of a run, on the reading side.

/// The observations that a run wrote, and how it ended.
struct Answer {
  std::vector<result::Observation> observations;
  std::optional<double> kernel_seconds; ///< time spent in the kernel and its witness; none: the run failed
  Reason failed;                        ///< why the run failed; empty: it did not
};

/// A progress line, written before the answer: the completed share of a simulation.
[[nodiscard]] std::string progress_line(double share);
/// Removes progress lines from the front of `text`; returns the last share, if any.
[[nodiscard]] std::optional<double> take_progress(std::string& text);

/// The last lines of an answer.
[[nodiscard]] std::string done_line(double kernel_seconds);
[[nodiscard]] std::string failed_line(const Reason& reason);

/// Throws recount::Error (bad_input) for anything that is not an answer.
[[nodiscard]] Answer parse_answer(std::string_view text);

// Runs of a plan with their results file: what the file holds is kept, what is missing is run.

/// The options that all commands with runs share, as typed.
struct BatchOptions {
  std::string cpu, timeout, output, shard, seed;
  long parallel = 0; ///< model runs at a time; 0: one for each CPU that this process may run on
  bool resume = false, quiet = false;
};

/// Declares --cpu, --timeout (`default_timeout`: in seconds), --resume and --quiet.
void declare_runs(command::Options& parser, BatchOptions& options, int default_timeout);
/// The same, and --seed, --shard and --jobs.
void declare_sharded_runs(command::Options& parser, BatchOptions& options, int default_timeout);

/// Runs of any kernels, and where the results go.
struct Batch {
  std::string command; ///< "sweep", for messages
  std::vector<Job> jobs;
  Execution execution;
  Shard shard;        ///< stated in the header; the jobs are those of the shard
  result::Run header; ///< compared with the plan of an existing file
  std::string file;   ///< appended to as results are made; empty: kept in memory only
  bool resume = false, quiet = false;
};

/// A batch without jobs, on this machine. `default_timeout`: of a timed run; `plan`: its settings, for the
/// header. Throws recount::Error (bad_input) for an option that is wrong.
[[nodiscard]] Batch make_batch(std::string command, const BatchOptions& options,
                               std::chrono::seconds default_timeout, std::uint64_t seed,
                               std::map<std::string, std::string> plan);

/// What the runs of a batch gave.
struct BatchResult {
  Outcome outcome;
  std::size_t already_recorded = 0; ///< runs that the file held already
  std::size_t planned = 0;          ///< runs of the whole plan
  result::Results results;          ///< those that the file held, and new ones
};

/// Runs what the file does not hold, with a line of progress, until SIGINT or SIGTERM; then, and after an
/// error, it prints how to resume. Throws recount::Error before anything is measured: bad_input when the file
/// exists (without resume) or holds another plan or another CPU's results (with it, naming the difference),
/// unavailable when it cannot be written. Throws unavailable as well when the disk is full midway: the file
/// then ends with a whole line and can be resumed. A file that is absent or empty is begun, also with
/// `resume`.
[[nodiscard]] BatchResult run_batch(const Batch& batch);

/// 0: everything was run; 1: a run failed; 3: nothing was counted, with a note that says so; 128 plus the
/// number of the signal that stopped it.
[[nodiscard]] int exit_status(const Batch& batch, const BatchResult& ended);

/// Refuses native runs that need more than `most` bytes, naming the largest point; `setting` says what the
/// limit is ("--max-memory 1 GiB"). Throws recount::Error (bad_input).
void check_memory(const std::vector<Job>& jobs, std::int64_t most, const std::string& setting);

/// How far each model run came that was under way when the runs were stopped, a line each.
[[nodiscard]] std::string unfinished_text(const std::vector<Unfinished>& runs);
/// A line for each reason that runs failed for; empty when none did.
[[nodiscard]] std::string failures_text(const std::vector<result::Failure>& failures);

} // namespace recount::sweep
