// The options of recount sweep, and its results as table, JSON, figure and section of a report.
#pragma once

#include "command/output.hpp"
#include "document/document.hpp"
#include "document/section.hpp"
#include "plot/sheet.hpp"
#include "result/results_file.hpp"
#include "statistics/statistics.hpp"
#include "sweep/engine.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// The options as typed.
struct SweepOptions : BatchOptions {
  std::vector<std::string> kernel;     ///< the positional argument
  std::vector<std::string> parameters; ///< "--size", "4K:4M:x2", ...
  std::vector<std::string> witnesses, metrics, conditions;
  std::string memory, plot, figure, export_to, statistic, sample;
  long repeat = 0, draws = 0, least = 0; ///< repeat 0: not given
  bool json = false, dry_run = false;
};

/// A sweep, ready to be run.
struct SweepRun {
  const kernel::Kernel& kernel;
  Plan plan;
  Grid grid;   ///< expand(plan, kernel), of the shard
  Batch batch; ///< schedule(plan, grid)
};

// The results.

/// The points that are shown: all, or of each metric and witness those where it is least, compared with the
/// first point of the grid.
struct Selection {
  std::size_t least = 0; ///< how many; 0: all
  result::Params first;
};

/// A row for each point, witness and metric.
[[nodiscard]] command::Table sweep_summary(const BatchResult& ended, const Selection& selection);
/// Statistic and interval of each point, metric and witness; what was not counted, with its reasons.
[[nodiscard]] std::string sweep_table(const BatchResult& ended, const Selection& selection);
/// The same as one JSON object, documented in recount-sweep(1).
[[nodiscard]] std::string sweep_json(const SweepRun& run, const BatchResult& ended);
/// "12 of 60 points skipped: ...", a line for each kind of reason; empty when none was.
[[nodiscard]] std::string skipped_text(const Grid& grid);
/// An appendix: every metric of every point, with its interval, accesses, and disturbed repetitions.
[[nodiscard]] document::Section values_section();

/// Throws recount::Error (bad_input) for a --figure that there is not, or that has no --plot to go to.
void check_figure(const std::string& path, const std::string& figure,
                  const std::vector<plot::Figure>& figures);
/// Draws the figure, or the first that suits, to a file or as text on stdout ("-"); nothing where `path` is
/// empty. Throws recount::Error as plot::draw() does.
void draw_sweep(const std::string& path, const std::string& figure, const std::vector<plot::Figure>& figures,
                const result::Results& results);

// Observations gathered by point, witness and metric.

/// What JSON states of a summary.
inline constexpr std::pair<const char*, double statistics::Summary::*> summary_members[] = {
    {"median", &statistics::Summary::median}, {"low", &statistics::Summary::low},
    {"high", &statistics::Summary::high},     {"min", &statistics::Summary::min},
    {"max", &statistics::Summary::max},       {"mean", &statistics::Summary::mean},
    {"p10", &statistics::Summary::p10},       {"p90", &statistics::Summary::p90}};

/// The repetitions of one metric by one witness at one point.
struct SweepGroup {
  result::Params params;
  Witness witness;
  std::string metric, unit = {};
  std::vector<double> values;
  std::vector<int> repetitions;               ///< of the values, from 0
  std::vector<double> cpu_seconds;            ///< beside "seconds", as Observation has them
  std::optional<statistics::Summary> summary; ///< none: nothing was counted, and `reason` says why
  Shared<Reason> reason;
  std::size_t missing = 0; ///< repetitions without a value
  std::size_t flagged = 0; ///< disturbed repetitions
  double error = 0;        ///< the largest sampling error of a simulation
  std::optional<std::int64_t> accesses;
  std::optional<double> of_first; ///< the statistic divided by that of the first point, see least()
  /// The statistic divided by the accesses; none where either is not known.
  [[nodiscard]] std::optional<double> per_access() const;
};

/// By point, metric and witness, points in their natural order.
[[nodiscard]] std::vector<SweepGroup> sweep_groups(const result::Results& results);

/// Of each metric and witness the `count` points where it is least, least first.
[[nodiscard]] std::vector<SweepGroup> least(std::vector<SweepGroup> groups, std::size_t count,
                                            const result::Params& first);

/// "2 outliers, further than 14.826 median absolute deviations from their median: size=4096 stride=64,
/// seconds by clock, repetition 2 ...; ": the first three by name. Empty: there are none. Modelled values
/// have none.
[[nodiscard]] std::string outliers_text(const std::vector<SweepGroup>& groups);

/// The values for CSV: each metric with all parameters, its value per access, the CPU time beside a time and
/// the ratio to the first point, or the reason why there is none.
[[nodiscard]] std::vector<document::Datum> sweep_data(const std::vector<SweepGroup>& groups);

/// The parameters whose value is not the same in all groups.
[[nodiscard]] std::vector<std::string> varying(const std::vector<SweepGroup>& groups);

} // namespace recount::sweep
