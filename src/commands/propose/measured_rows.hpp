// Preset rows inferred from the counts of all events over the kernels of recount check.
#pragma once

#include "base/statistics/statistics.hpp"
#include "commands/propose/propose.hpp"
#include "kernel/proofs.hpp"
#include "run/batch.hpp"
#include "run/result/results_file.hpp"
#include "run/sweep_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace recount::propose {
// Formulas over measured counts of events that reproduce the expected counts of a preset. Pure.

/// The counts of one event at all points (a kernel at a point), in one order for all events.
struct MeasuredEvent {
  std::string name;
  std::vector<std::vector<double>> counts; ///< by point, the repetitions; empty: not counted there
};

enum class Usability {
  usable,
  dead,          ///< 0 at all points
  constant,      ///< the same count at all points
  irreproducible ///< repetitions differ by more than 5 % at most points where it counts
};
[[nodiscard]] std::string_view name_of(Usability usability) noexcept;
[[nodiscard]] Usability usability(const MeasuredEvent& event);

/// What a preset may count at a point.
struct Expected {
  std::size_t point = 0;
  statistics::Band accepted;
};

/// A sum of multiples of events, over a divisor.
struct Fit {
  std::map<std::string, int> terms;
  int divisor = 1;
  /// The largest distance from the accepted counts, as a share of what noise allows: at most 1.
  double residual = 0;
  [[nodiscard]] std::size_t weight() const; ///< terms, and factors other than 1
  friend bool operator==(const Fit& a, const Fit& b) { return a.terms == b.terms && a.divisor == b.divisor; }
};
/// "2*A + B", "(A) / 2"
[[nodiscard]] std::string formula_text(const Fit& fit);
/// "PRESET,NAME,TYPE,..." as PAPI reads it.
[[nodiscard]] std::string make_row(const std::string& preset, const Fit& fit);

/// The formulas that reproduce every expected count within the noise of their events, fewest terms first.
struct Fits {
  std::vector<Fit> found;
  std::size_t points = 0;   ///< expected counts that were compared
  std::size_t positive = 0; ///< those that are certainly larger than 0
  bool complete = true;     ///< false: the search ended early
};

/// The usable events, each set of events with the same counts at all points once.
class Measured {
public:
  explicit Measured(const std::vector<MeasuredEvent>& events);

  /// `suggested`: formulas to try first, of any number of terms.
  [[nodiscard]] Fits fits(const std::vector<Expected>& expected, const std::vector<Fit>& suggested) const;
  /// The other events with the same counts as that one.
  [[nodiscard]] std::vector<std::string> same_as(const std::string& event) const;
  [[nodiscard]] std::size_t size() const { return columns_.size(); }

private:
  struct Column {
    std::vector<std::string> names; ///< of events with the same counts
    std::vector<double> counts, noise;
    std::vector<bool> counted;
  };
  class Search;
  friend class Search;
  std::vector<Column> columns_;
};

// Rows from them.

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
[[nodiscard]] std::vector<sweep::Job> make_jobs(const Statements& statements,
                                                const std::vector<std::string>& events, long repeat,
                                                std::uint64_t seed);

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
[[nodiscard]] std::string format_csv(const MeasuredProposals& proposals, const std::string& unchecked);

// recount propose --measure: counts all events over the kernels, and has the proposed rows checked.

struct MeasureOptions : sweep::BatchOptions {
  std::vector<std::string> events; ///< only these; empty: all of the CPU
  long repeat = 3;
};

/// Throws Error (bad_input) for an invalid CPU or time-out.
void check_options(const MeasureOptions& options);
/// Counts on this machine. Throws Error (unavailable) if no event can be counted, and as
/// command::run_batch().
[[nodiscard]] sweep::BatchResult measure(const MeasureOptions& options, const Proposals& relatives);

/// Runs `recount check --table` on the rows in a process of its own, and sets their verdicts. Returns why it
/// could not be run; empty: it was.
[[nodiscard]] std::string check_rows(MeasuredProposals& proposals);

} // namespace recount::propose
