// Results of a sweep as a table and as JSON.
#pragma once

#include "command/output.hpp"
#include "sweep/session.hpp"

#include <string>

namespace recount::sweep {

/// A row for each point, witness and metric.
[[nodiscard]] command::Table sweep_summary(const sweep::Ended& ended);
/// Median, minimum and spread of each point, metric and witness; what was not counted, with its reasons.
[[nodiscard]] std::string sweep_table(const sweep::Ended& ended);
/// The same as one JSON object, documented in recount-sweep(1).
[[nodiscard]] std::string sweep_json(const sweep::Session& session, const sweep::Ended& ended);
/// "12 of 60 points skipped: ...", a line for each kind of reason; empty when none was.
[[nodiscard]] std::string skipped_text(const sweep::Grid& grid);
/// How far each model run came that was under way when the sweep was stopped, a line each.
[[nodiscard]] std::string unfinished_text(const std::vector<sweep::Unfinished>& runs);
/// A line for each reason that runs failed for; empty when none did.
[[nodiscard]] std::string failures_text(const std::vector<result::Failure>& failures);

} // namespace recount::sweep
