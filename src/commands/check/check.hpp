// What can be checked on this machine: presets and events, and the kernels with expected counts for them.
#pragma once

#include "count/preset/view.hpp"
#include "kernel/proofs.hpp"
#include "run/result/results_file.hpp"
#include "run/sweep_plan.hpp"
#include "run/verdict/joint.hpp"
#include "run/verdict/verdict.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::check {

/// A metric to check, and the metric that provides its expected counts.
struct Subject {
  std::string name;        ///< the metric that is counted
  std::string reference;   ///< the metric that kernels state
  std::string reason = {}; ///< why a run could not count it; empty: it can be tried
  /// The events of a formula with their factors, 0 where it is not linear; counted alone as well.
  std::map<std::string, double> terms = {};
  std::string event = {}; ///< the native event that it is, without a formula
};

/// A row of a preset table.
struct TableRow {
  int line = 0;
  std::string text;
};

/// The inputs of a check.
struct CheckContext {
  std::vector<Subject> presets; ///< the standard ones, then others of the table, then user events
  std::vector<kernel::Proof> proofs;
  std::vector<kernel::Proof> side_proofs;  ///< what the same points state of other presets
  std::vector<kernel::Relation> relations; ///< between counts of one preset at two points
  std::vector<preset::Identity> identities;
  std::vector<preset::Identity> joint; ///< relations between native events of this CPU
  preset::CpuKind kind = preset::CpuKind::any;
  std::string table;                    ///< the preset table; empty: there is none
  std::map<std::string, TableRow> rows; ///< by preset, where the table has one
  std::vector<std::string> notes;       ///< what concerns all: no core PMU, caches of unknown size
};

/// Reads the tables that PAPI reads (see preset::MachinePresets) and opens each event once. PAPI itself runs
/// in forked children only. Throws Error (bad_input) when a table cannot be read, or crashes PAPI at
/// initialisation.
[[nodiscard]] CheckContext check_context();

// The validation of presets: which kernels are run for which preset, and the verdicts.

struct CheckOptions {
  /// Presets (PAPI_L1_DCM, L1_DCM), events, or NAME=METRIC: NAME compared with the counts that kernels expect
  /// for METRIC. Empty: all presets, and the events that kernels verify.
  std::vector<std::string> requested;
  int repeat = 4;                  ///< processes; each executes a region four times for every set of counters
  std::optional<double> tolerance; ///< share; instead of each proof's own
  std::uint64_t seed = 1;          ///< of the order of the runs
};

struct CheckPlan {
  std::vector<Subject> subjects;
  std::vector<sweep::Job> jobs; ///< the witness `both`, shuffled in each repetition; then the model
  std::map<std::string, std::string> settings; ///< for the header of the results
};

/// Throws Error (bad_input) for an unknown name, with the nearest ones, and for a METRIC that no
/// kernel states.
[[nodiscard]] CheckPlan plan_check(const CheckContext& context, const CheckOptions& options);

/// Coverage of the standard presets by kernels.
struct Coverage {
  int standard = 0;   ///< all there are
  int provokable = 0; ///< triggered by user code with a known count
  int proven = 0;     ///< verified by a kernel on this machine
  int counted = 0;    ///< of these, counted here
};

struct Checked {
  std::vector<PresetVerdict> verdicts; ///< one for each subject, in their order
  Coverage coverage;
  Inconsistency joint; ///< relations between native events that do not hold
};

/// Pure, but for simulations of kernels: the model's counts are read from the results.
[[nodiscard]] Checked conclude(const CheckPlan& plan, const CheckContext& context,
                               const CheckOptions& options, const result::Results& results);

} // namespace recount::check
