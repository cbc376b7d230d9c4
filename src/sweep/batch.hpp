// Runs of a plan with their results file: what the file holds is kept, what is missing is run.
#pragma once

#include "command/command.hpp"
#include "sweep/engine.hpp"
#include "sweep/sweep_plan.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace recount::sweep {

/// The options that all commands with runs share, as typed.
struct BatchOptions {
  std::string cpu, timeout, output, shard, seed;
  long parallel = 0; ///< model runs at a time; 0: one for each CPU that this process may run on
  bool resume = false, quiet = false;
};

/// Declares --cpu, --timeout (`limit`: the default in seconds), --resume and --quiet.
void declare_runs(command::Options& options, BatchOptions& into, int limit);
/// The same, and --seed, --shard and --jobs.
void declare_sharded_runs(command::Options& options, BatchOptions& into, int limit);

/// Runs of any kernels, and where the results go.
struct Batch {
  std::string command; ///< "sweep", for messages
  std::vector<Job> jobs;
  Execution how;
  Shard shard;        ///< stated in the header; the jobs are those of the shard
  result::Run header; ///< compared with the plan of an existing file
  std::string file;   ///< appended to as results are made; empty: kept in memory only
  bool resume = false, quiet = false;
};

/// A batch without jobs, on this machine. `limit`: of a timed run without --timeout; `plan`: its settings,
/// for the header. Throws recount::Error (bad_input) for an option that is wrong.
[[nodiscard]] Batch make_batch(std::string command, const BatchOptions& options, std::chrono::seconds limit,
                               std::uint64_t seed, std::map<std::string, std::string> plan);

struct Ended {
  Outcome outcome;
  std::size_t there = 0;   ///< runs that the file held already
  std::size_t planned = 0; ///< runs of the whole plan
  result::Results results; ///< everything: what was there and what was made
};

/// Runs what the file does not hold, with a line of progress, until SIGINT or SIGTERM; then, and after an
/// error, it prints how to resume. Throws recount::Error before anything is measured: bad_input when the file
/// exists (without resume) or holds another plan or another CPU's results (with it, naming the difference),
/// unavailable when it cannot be written. Throws unavailable as well when the disk is full midway: the file
/// then ends with a whole line and can be resumed. A file that is absent or empty is begun, also with
/// `resume`.
[[nodiscard]] Ended run_batch(const Batch& batch);

/// 0: everything was run; 1: a run failed; 3: nothing was counted, with a note that says so; 128 plus the
/// number of the signal that stopped it.
[[nodiscard]] int exit_status(const Batch& batch, const Ended& ended);

/// Refuses native runs that need more than `most` bytes, naming the largest point; `setting` says what the
/// limit is ("--max-memory 1 GiB"). Throws recount::Error (bad_input).
void check_memory(const std::vector<Job>& jobs, std::int64_t most, const std::string& setting);

/// A reason with # for its numbers: reasons that differ in them only are one kind.
[[nodiscard]] std::string kind_of_reason(const std::string& reason);
/// How far each model run came that was under way when the runs were stopped, a line each.
[[nodiscard]] std::string unfinished_text(const std::vector<Unfinished>& runs);
/// A line for each reason that runs failed for; empty when none did.
[[nodiscard]] std::string failures_text(const std::vector<result::Failure>& failures);

} // namespace recount::sweep
