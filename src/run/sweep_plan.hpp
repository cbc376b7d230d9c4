// Conditions between parameters: --where 'stride<=size/2'.
#pragma once

#include "base/host/job.hpp"
#include "kernel/kernel.hpp"
#include "run/result/observation.hpp"

#include <recount/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace recount::sweep {

/// One side of a condition: NAME, NAME/N, NAME*N or a number.
struct Term {
  std::string name; ///< empty: the number `factor` alone
  std::int64_t factor = 1;
  bool divided = false; ///< NAME/N: the value divided by the factor, exactly (not rounded)
};

/// TERM OP TERM, OP being <=, <, >=, >, = or !=. Points that do not fulfil it are left out of the grid.
struct Condition {
  std::string text; ///< as given, without blanks
  Term left, right;
  std::string op;
  /// Whether a complete point fulfils it. Pure.
  [[nodiscard]] bool holds(const result::Params& point) const;
};

/// Throws recount::Error (bad_input) when it does not read so, or names no number parameter of the kernel.
[[nodiscard]] Condition parse_condition(const kernel::Kernel& kernel, const std::string& text);

// What a sweep will do: a grid of parameter points x repetitions x witnesses, in a shuffled order.

/// One parameter and the values it takes.
struct Axis {
  std::string name; ///< "size"
  std::vector<result::ParamValue> values;
};

/// How the model simulates.
struct ModelModes {
  enum class Sample { automatic, always, never };
  Sample sample = Sample::automatic;
  int draws = 0; ///< of placement; 0: the fixed one
};

/// The sweep as requested.
struct Plan {
  std::string kernel;
  std::vector<Axis> axes;            ///< parameters without an axis keep their default
  std::vector<Condition> conditions; ///< points that break one are skipped
  std::vector<Witness> witnesses;
  std::vector<std::string> metrics; ///< empty: each witness's default ones
  int repeat = 5;                   ///< repetitions of each point by each native witness
  std::uint64_t seed = 0;           ///< of the order
  ModelModes modes = {};
};

/// A point of the grid that --where excludes or the kernel refuses. The subject is the condition, or the
/// parameters that conflict.
struct Skipped {
  result::Params point;
  Problem problem;
};

/// The grid, completed with defaults.
struct Grid {
  std::vector<result::Params> points;
  std::vector<Skipped> skipped;
  std::size_t whole = 0; ///< points before a shard is taken
};

/// One run: what one fresh process measures.
struct Job {
  std::string kernel;
  result::Params point;
  int repetition = 0;
  Witness witness;
  std::vector<std::string> metrics;
};

/// Values of a parameter from what the user typed, checked against the kernel's parameter.
/// Throws recount::Error (bad_input) for an unknown parameter, a bad range, a value out of bounds.
[[nodiscard]] Axis parse_axis(const kernel::Kernel& kernel, const std::string& name, const std::string& text);

/// All points, last axis fastest. Throws recount::Error (bad_input) when the grid has more than a million
/// points, or when every point is refused (with the kernel's reason).
[[nodiscard]] Grid expand(const Plan& plan, const kernel::Kernel& kernel);

/// The metrics that are requested of a witness under this plan.
[[nodiscard]] std::vector<std::string> list_metrics(const Plan& plan, const Witness& witness);

/// The runs in the order of execution. Native witnesses first: in each repetition every point by every
/// witness once, shuffled, so that a burst of noise cannot spoil one point; then the model, each point
/// once (it is deterministic) or once per draw of placement. The order depends on the seed and on nothing
/// else. Throws recount::Error (bad_input) for more than five million runs.
[[nodiscard]] std::vector<Job> schedule(const Plan& plan, const Grid& grid);

/// The plan setting by setting, in canonical text, as in the header of a results file.
[[nodiscard]] std::map<std::string, std::string> settings(const Plan& plan);

/// What differs between the plan of a file and this one, a clause ("--size was 4096,8192 in the file and is
/// 4096 now"); empty: nothing.
[[nodiscard]] std::string difference(const std::map<std::string, std::string>& in_file,
                                     const std::map<std::string, std::string>& now);

// --shard: one of several parts of the points of a plan, the same whoever computes it.

/// Part `number` of `of`; 1 of 1 is everything.
struct Shard {
  std::size_t number = 1, of = 1;
  [[nodiscard]] bool whole() const { return of == 1; }
  [[nodiscard]] std::string text() const; ///< "2/4"
};

/// "2/4", or "auto": the task and the number of tasks of `job`. Empty: everything. Throws Error (bad_input).
[[nodiscard]] Shard parse_shard(const std::string& text, const host::Job& job);

/// Keeps every N-th point, beginning with the K-th: neighbours, which take about as long, are spread over the
/// shards.
void keep_shard(std::vector<result::Params>& points, const Shard& shard);
/// The same for the points of the jobs, in the order of kernel and parameters, whatever the order of the
/// jobs: all runs of a point are in one shard.
void keep_shard(std::vector<Job>& jobs, const Shard& shard);

/// The setting of a plan that states the shard. It does not distinguish plans (difference()).
inline constexpr const char* shard_setting = "shard";
void state_shard(result::Run& header, const Shard& shard);

/// "recount sweep: shard 5/5 holds none of 3 points".
[[nodiscard]] std::string empty_shard_text(const std::string& command, const Shard& shard,
                                           std::size_t points);

// Ranges as the user types them: 4K:4M:x2, 600:3000:400, 1,2,8.

/// Maximum number of values of a range.
inline constexpr std::size_t max_values = 100'000;

/// The values of a range, in the order given, each once. `FIRST:LAST:xFACTOR` multiplies (FACTOR > 1, may
/// have decimals), `FIRST:LAST:STEP` adds (1 where numbers without suffix have no STEP), `A,B,C` lists; items
/// of a list may be ranges. Numbers are whole and take K, M or G (powers of 1024). LAST is reached when a
/// step falls on it, never passed. Throws recount::Error (bad_input) with `subject` ("--size") as its
/// subject.
[[nodiscard]] std::vector<std::int64_t> parse_range(const std::string& text, const std::string& subject);

/// One number with an optional suffix, as in a range. Throws likewise.
[[nodiscard]] std::int64_t parse_size(const std::string& text, const std::string& subject);

// How the model simulates the runs of a plan: in samples, and with how many draws of placement.

inline constexpr const char* sample_help = "simulate matrix products of the model in samples: auto (default: "
                                           "where the complete simulation would take more "
                                           "than a second), always, never";
inline constexpr const char* draws_help =
    "draws of array addresses and physical pages per modelled point (default: one fixed placement)";

/// Throws recount::Error (bad_input) for another word. Empty: auto.
[[nodiscard]] ModelModes parse_modes(const std::string& sample, long draws);

/// The runs that answer a job of the model: one, or one per draw; the parts "~sample" and "~placement=any"
/// are added to the name of its witness. One draw where no draw can change a count. A witness without either
/// part and a native one stay as they are.
[[nodiscard]] std::vector<Job> modelled_jobs(const Job& job, const ModelModes& modes);

/// Adds the options that are not default to the settings of a run.
void add_modes(std::map<std::string, std::string>& settings, const ModelModes& modes);

// Estimated time of simulations.

/// CPU seconds that a job of a model's witness is likely to take, mostly within a factor of three: times that
/// were measured, scaled to the job's size. 0 for what is known without simulating. Throws recount::Error
/// (bad_input) for a machine that is not described.
[[nodiscard]] double simulated_seconds(const Job& job);

/// Seconds that the model's jobs among these take together, `parallel` at a time.
[[nodiscard]] double model_seconds(const std::vector<Job>& jobs, int parallel);

} // namespace recount::sweep
