#include "show/command/batch.hpp"

#include "base/process/signals.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace recount::command {
namespace {

using Clock = std::chrono::steady_clock;

/// Writes to stderr. On a terminal the line is written over itself, ten times a second at most.
class ProgressLine {
public:
  ProgressLine(bool quiet, std::string command);
  void show(const sweep::Progress& progress);
  void clear(); ///< before anything else is written to the terminal

private:
  std::string command_;
  bool quiet_, terminal_, shown_ = false;
  Clock::time_point next_;
};

ProgressLine::ProgressLine(bool quiet, std::string command)
    : command_(std::move(command)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + (terminal_ ? std::chrono::milliseconds(0) : std::chrono::minutes(1))) {}

void ProgressLine::show(const sweep::Progress& progress) {
  if (quiet_ || Clock::now() < next_) return;
  std::string text = sweep::show_progress(progress);
  if (!terminal_) {
    note("recount {}: {}\n", command_, text);
    next_ = Clock::now() + std::chrono::minutes(1);
    return;
  }
  if (progress.job) text += ": " + progress.job->witness.name() + " " + result::describe(progress.job->point);
  text.resize(std::min(text.size(), line_width(stderr) - 1)); // a wrapped one cannot be written over
  command::print(stderr, "\r{}\033[K", text);
  shown_ = true;
  next_ = Clock::now() + std::chrono::milliseconds(100);
}

void ProgressLine::clear() {
  if (shown_) command::print(stderr, "\r\033[K");
  shown_ = false;
}

} // namespace

void declare_runs(Options& parser, sweep::BatchOptions& options, int default_timeout) {
  parser
      .text("--cpu", options.cpu, "N",
            "measure on this CPU, or none for no pinning (default: the least disturbed)")
      .text("--timeout", options.timeout, "SECONDS",
            fmt::format("time-out per run: wall time (default {}), for the model CPU time (default none)",
                        default_timeout))
      .flag("--resume", options.resume, "resume FILE: run only what is missing")
      .flag("-q,--quiet", options.quiet, "print no progress and no notes");
}

void declare_sharded_runs(Options& parser, sweep::BatchOptions& options, int default_timeout) {
  parser.text("--seed", options.seed, "N", "seed of the order of the runs (default: random, printed)")
      .text("--shard", options.shard, "K/N",
            "run only part K of N of the points; auto: the task of srun, mpirun or a job array")
      .number("-j,--jobs", options.parallel, "N", "model runs at a time (default: the number of usable CPUs)",
              {1, 10'000});
  declare_runs(parser, options, default_timeout);
}

sweep::BatchResult run_batch(const sweep::Batch& batch) {
  process::catch_stop_signals();
  ProgressLine line(batch.quiet, batch.command);
  bool measured = false;
  sweep::Listener listener;
  listener.stop = [] { return process::stop_signal != 0; };
  listener.progress = [&](const sweep::Progress& progress) { line.show(progress); };
  listener.observation = [&](const result::Observation&) { measured = true; };
  listener.further = [&](const std::string& why) {
    line.clear();
    if (!batch.quiet) note("recount {}: {}\n", batch.command, why);
  };
  const auto print_resume_command = [&] {
    line.clear();
    command::print_resume_command(batch.command, batch.file, batch.header.command, measured);
  };
  try {
    sweep::BatchResult ended = sweep::run_missing(batch, listener);
    line.clear();
    measured = !ended.results.observations.empty();
    if (ended.outcome.stopped) print_resume_command();
    return ended;
  } catch (const Error&) {
    print_resume_command();
    throw;
  }
}

int exit_status(const sweep::Batch& batch, const sweep::BatchResult& ended) {
  if (ended.outcome.stopped) return 128 + process::stop_signal;
  const auto& all = ended.results.observations;
  if (std::ranges::any_of(all, [](const auto& o) { return o.value.index() != 0; }))
    return ended.results.failures.empty() ? 0 : 1;
  if (ended.results.failures.empty()) // else failures_text() has the reasons
    note("recount {}: nothing was counted: see recount doctor\n", batch.command);
  return 3;
}

} // namespace recount::command
