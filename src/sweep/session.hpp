// A sweep with its results file: results present, runs that remain.
#pragma once

#include "command/output.hpp"
#include "sweep/engine.hpp"
#include "sweep/sweep_plan.hpp"

#include <string>

namespace recount::sweep {

/// Runs of any kernels, and where the results go.
struct Batch {
  std::vector<Job> jobs;
  Execution how;
  result::Run header; ///< compared with the plan of an existing file
  std::string file;   ///< as in Session
  bool resume = false;
};

/// What to do, and where the results go.
struct Session {
  const kernel::Kernel& kernel;
  Plan plan;
  Grid grid; ///< expand(plan, kernel)
  Execution how;
  result::Run header; ///< sweep::header()
  std::string file;   ///< appended to as results are made; empty: kept in memory only
  bool resume = false;
};

struct Ended {
  Outcome outcome;
  std::size_t there = 0;   ///< runs that the file held already
  std::size_t planned = 0; ///< runs of the whole plan
  result::Results results; ///< everything: what was there and what was made
};

/// Throws recount::Error before anything is measured: bad_input when the file exists (without resume) or
/// holds another plan or another CPU's results (with it, naming the difference), unavailable when it cannot
/// be written. Throws unavailable as well when the disk is full midway: the file then ends with a whole line
/// and can be resumed. A file that is absent or empty is begun, also with `resume`.
/// `listener` is called after an observation or failure has reached the file.
[[nodiscard]] Ended conduct(const Batch& batch, const Listener& listener);
/// The same for schedule(session.plan, session.grid).
[[nodiscard]] Ended conduct(const Session& session, const Listener& listener);

/// Refuses a grid that a native witness cannot execute within `most` bytes, naming the largest point;
/// `setting` says what the limit is ("--max-memory 1 GiB"). Throws recount::Error (bad_input).
void check_memory(const Session& session, std::int64_t most, const std::string& setting);

/// The points that are shown: all, or of each metric and witness those where it is least, compared with the
/// first point of the grid.
struct Selection {
  std::size_t least = 0; ///< how many; 0: all
  result::Params first;
};

/// A row for each point, witness and metric.
[[nodiscard]] command::Table sweep_summary(const sweep::Ended& ended, const Selection& selection);
/// Statistic and interval of each point, metric and witness; what was not counted, with its reasons.
[[nodiscard]] std::string sweep_table(const sweep::Ended& ended, const Selection& selection);
/// The same as one JSON object, documented in recount-sweep(1).
[[nodiscard]] std::string sweep_json(const sweep::Session& session, const sweep::Ended& ended);
/// "12 of 60 points skipped: ...", a line for each kind of reason; empty when none was.
[[nodiscard]] std::string skipped_text(const sweep::Grid& grid);
/// How far each model run came that was under way when the sweep was stopped, a line each.
[[nodiscard]] std::string unfinished_text(const std::vector<sweep::Unfinished>& runs);
/// A line for each reason that runs failed for; empty when none did.
[[nodiscard]] std::string failures_text(const std::vector<result::Failure>& failures);

} // namespace recount::sweep
