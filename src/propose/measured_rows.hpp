// Preset rows inferred from the counts of all events over the kernels of recount check.
#pragma once

#include "kernel/proofs.hpp"
#include "propose/fit.hpp"
#include "propose/propose.hpp"
#include "result/results_file.hpp"
#include "sweep/batch.hpp"
#include "sweep/sweep_plan.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace recount::propose {

/// The setting of a results file that names the PMU whose events were counted.
inline constexpr const char* measured_setting = "propose";

/// What the kernels prove about presets, on a machine with these caches.
struct Statements {
  std::vector<kernel::Proof> proofs, side_proofs;
  std::vector<kernel::Relation> relations;
};
[[nodiscard]] Statements statements(const std::optional<model::MachineDescription>& machine);
/// The same for the machine of the results.
[[nodiscard]] Statements statements(const result::Results& results);

/// The events to count: the terms of `relatives`, then all others of the CPU, each encoding once.
[[nodiscard]] std::vector<std::string> events_to_count(EventIndex& events, const Proposals& relatives);
/// Every event at every point of the statements by perf, `repeat` times, and the model's counts.
[[nodiscard]] std::vector<sweep::Job>
jobs_of(const Statements& statements, const std::vector<std::string>& events, int repeat, std::uint64_t seed);

/// A preset with its formulas; the first is proposed.
struct MeasuredPreset {
  std::string preset;
  Fits fits;
  bool tight = false; ///< one of the expected counts excludes twice and half the count
  /// High: the only formula that fits, and `tight`. Medium: a relative's formula, among others. Low: neither,
  /// and no row is proposed.
  Confidence confidence = Confidence::low;
  std::vector<std::string> from = {};    ///< CPUs whose rows are the first formula
  std::vector<std::string> same = {};    ///< "A: B C": events with the same counts as a term
  std::vector<std::string> kernels = {}; ///< that state its count
  std::string against = {};              ///< a relative's formula that the counts contradict; empty: none
  std::string decider = {};              ///< where the first two formulas differ most; empty: nowhere
  std::string verdict = {};              ///< of recount check on the row; empty: not run
};
struct MeasuredProposals {
  std::string cpu;
  std::size_t events = 0, points = 0;
  std::map<Usability, std::vector<std::string>> unusable;
  std::size_t distinct = 0; ///< usable events with counts of their own
  std::vector<MeasuredPreset> rows;
  std::vector<Unproposed> missing; ///< presets that kernels state, but no formula reproduces
};

/// Throws Error (bad_input) for results without counts of events.
[[nodiscard]] MeasuredProposals propose_measured(const result::Results& results, const Statements& statements,
                                                 const Proposals& relatives);
/// As a preset table with comments. Rows that recount check finds wrong are comments. `unchecked`: why
/// recount check was not run on the rows; empty: it was.
[[nodiscard]] std::string csv_of(const MeasuredProposals& proposals, const std::string& unchecked);

// recount propose --measure: counts all events over the kernels, and has the proposed rows checked.

struct MeasureOptions : sweep::BatchOptions {
  std::vector<std::string> events; ///< only these; empty: all of the CPU
  int repeat = 3;
};

/// Throws Error (bad_input) for an invalid CPU or time-out.
void check_options(const MeasureOptions& options);
/// Counts on this machine. Throws Error (unavailable) if no event can be counted, and as sweep::run_batch().
[[nodiscard]] sweep::Ended measure(const MeasureOptions& options, const Proposals& relatives);

/// The verdicts of recount check on proposed rows.
struct RowVerdicts {
  std::map<std::string, std::string> by_preset; ///< "PAPI_X": "agrees"
  std::string failure;                          ///< why recount check could not be run; empty: it was
};
/// Runs `recount check --table` on the rows in a process of its own.
[[nodiscard]] RowVerdicts check_rows(const MeasuredProposals& proposals);

} // namespace recount::propose
