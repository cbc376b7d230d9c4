// The cross-check: which kernels are run for which preset, and what comes of it.
#pragma once

#include "check/verdict.hpp"
#include "result/read.hpp"
#include "check/ground.hpp"
#include "sweep/plan.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::study {

struct CheckOptions {
  /// Presets (PAPI_L1_DCM, L1_DCM), events, or NAME=METRIC: NAME held against what kernels state for METRIC.
  /// Empty: all presets, and the events that kernels prove.
  std::vector<std::string> asked;
  int repeat = 4;                  ///< processes; each executes a region four times for every set of counters
  std::optional<double> tolerance; ///< share; instead of each proof's own
  std::uint64_t seed = 1;          ///< of the order of the runs
};

/// What is checked, and against what.
struct Subject {
  std::string name; ///< the metric that is counted
  std::string as;   ///< the metric that kernels state
  std::string trouble;
};

struct CheckPlan {
  std::vector<Subject> subjects;
  std::vector<sweep::Job> jobs; ///< the witness `both`, shuffled in each repetition; then the model
  std::map<std::string, std::string> settings; ///< for the header of the results
};

/// Throws Error (bad_input) for a name that nobody knows, with the nearest ones, and for a METRIC that no
/// kernel states.
[[nodiscard]] CheckPlan plan_check(const Ground& ground, const CheckOptions& options);

/// How far the kernels reach, in standard presets.
struct Coverage {
  int standard = 0;   ///< all there are
  int provokable = 0; ///< by user code, to a known count
  int proven = 0;     ///< by a kernel on this machine
  int counted = 0;    ///< of these, counted here
};

struct Checked {
  std::vector<analysis::PresetVerdict> verdicts; ///< one for each subject, in their order
  Coverage coverage;
};

/// Pure, but for simulations of kernels: the model's counts are read from the results.
[[nodiscard]] Checked conclude(const CheckPlan& plan, const Ground& ground, const CheckOptions& options,
                               const result::Results& results);

} // namespace recount::study
