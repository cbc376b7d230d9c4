// Runs of a plan with their results file: what the file holds is kept, what is missing is run.
#pragma once

#include "run/engine.hpp"
#include "run/result/results_file.hpp"
#include "run/rounds.hpp"
#include "run/sweep_plan.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// The options that all commands with runs share, as typed.
struct BatchOptions {
  std::string cpu, timeout, output, shard, seed;
  long parallel = 0; ///< model runs at a time; 0: one for each CPU that this process may run on
  bool resume = false, quiet = false;
};

/// Runs that results call for beyond the plan.
struct Further {
  std::vector<Job> jobs;     ///< a round of them; none: all is decided
  std::size_t undecided = 0; ///< comparisons
  double seconds = 0;        ///< that the jobs will take
};

/// What follows a plan that leaves comparisons undecided: round by round, until `next` asks for nothing, a
/// run fails, or the next round would end after three times the announced time or `most` seconds of rounds.
struct UntilDecided {
  std::function<Further(const result::Results&)> next; ///< of the results so far; empty: nothing follows
  std::optional<double> announced; ///< seconds of the planned runs; none: those that they took
  double most = stat::longest_undecided;
};

/// As many repetitions again of each job of the plan that `is_wanted`: who looks after each single one finds
/// a difference where there is none. Shuffled by `seed` within each repetition; `seconds` is what they took
/// so far, `undecided` is left to the caller. Pure.
[[nodiscard]] Further repeat_again(const std::vector<Job>& plan, const result::Results& results,
                                   std::uint64_t seed, const std::function<bool(const Job&)>& is_wanted);

/// Runs of any kernels, and where the results go.
struct Batch {
  std::string command; ///< "sweep", for messages
  std::vector<Job> jobs;
  Execution execution;
  Shard shard;        ///< stated in the header; the jobs are those of the shard
  result::Run header; ///< compared with the plan of an existing file
  std::string file;   ///< appended to as results are made; empty: kept in memory only
  bool resume = false, quiet = false;
  UntilDecided until_decided = {};
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
  std::size_t planned = 0;          ///< runs of the whole plan, and of what followed it
  result::Results results;          ///< those that the file held, and new ones
};

/// Runs what the file does not hold; if that was anything, also what follows until all is decided. Throws
/// recount::Error before anything is measured: bad_input when the file exists (without resume) or holds
/// another plan or another CPU's results (with it, naming the difference), unavailable when it cannot be
/// written. Throws unavailable as well when the disk is full midway: the file then ends with a whole line and
/// can be resumed. A file that is absent or empty is begun, also with `resume`.
[[nodiscard]] BatchResult run_missing(const Batch& batch, Listener listener);

/// Refuses native runs that need more than `most` bytes, naming the largest point; `setting` says what the
/// limit is ("--max-memory 1 GiB"). Throws recount::Error (bad_input).
void check_memory(const std::vector<Job>& jobs, std::int64_t most, const std::string& setting);

/// How far each model run came that was under way when the runs were stopped, a line each.
[[nodiscard]] std::string unfinished_text(const std::vector<Unfinished>& runs);
/// A line for each reason that runs failed for; empty when none did.
[[nodiscard]] std::string failures_text(const std::vector<result::Failure>& failures);

} // namespace recount::sweep
