// The options of recount sweep, and its results as table, JSON, figure and section of a report.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/batch.hpp"
#include "run/result/results_file.hpp"
#include "show/command/output.hpp"
#include "show/document/document.hpp"
#include "show/document/groups.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// The options as typed.
struct SweepOptions : BatchOptions {
  std::vector<std::string> kernel;     ///< the positional argument; with `axes` the user's program
  std::vector<std::string> parameters; ///< "--size", "4K:4M:x2", ...
  std::vector<std::string> witnesses, metrics, conditions;
  std::string memory, plot, figure, export_to, statistic, sample;
  long repeat = 0, draws = 0, least = 0; ///< repeat 0: not given
  bool json = false, dry_run = false, all = false;
  // Of the user's program.
  std::vector<std::string> axes, environment, events;
  std::string folder, prepare, input, baseline;
  long warm_up = 0, sample_every = 0;
};

inline constexpr int usual_repetitions = 5;

/// A sweep, ready to be run.
struct SweepRun {
  Plan plan;
  Grid grid;   ///< expand(plan, kernel), of the shard
  Batch batch; ///< schedule(plan, grid)
};

/// Of a kernel: throws recount::Error (bad_input) for an option that is about programs.
void refuse_program_options(const SweepOptions& options);
/// Of the user's program: recount sweep -P. Throws recount::Error.
[[nodiscard]] SweepRun make_program_sweep(const SweepOptions& options);

// The results.

/// The points that are shown: all, or of each metric and witness those where it is least, compared with the
/// first point of the grid.
struct Selection {
  std::size_t least = 0; ///< how many; 0: all
  result::Params first;
  bool all = false; ///< every value of a long sweep, too
};

/// A row for each point, witness and metric.
[[nodiscard]] show::Table sweep_summary(const BatchResult& ended, const Selection& selection);
/// Statistic and interval of each point, metric and witness, or a line per point where these are many; what
/// was not counted, with its reasons.
[[nodiscard]] std::string sweep_table(const BatchResult& ended, const Selection& selection);
/// What the values of a program establish: where PAPI counts something else than perf, and speed-ups.
[[nodiscard]] std::vector<std::string> program_notes(const std::vector<SweepGroup>& groups);
/// Figure, table of medians and what is established, of each program that was swept.
[[nodiscard]] document::Section program_section();
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

} // namespace recount::sweep
