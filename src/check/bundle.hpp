// Everything about a check in one folder, as evidence for a change of a preset table.
#pragma once

#include "check/check.hpp"
#include "sweep/session.hpp"

#include <string>

namespace recount::check {

/// Creates the folder. Throws Error (bad_input) where it cannot be created, and where it is not empty.
void make_bundle_folder(const std::string& folder);

/// Writes check.md (machine, verdicts, rows of the table), counts.jsonl (a results file), check.json and,
/// where gnuplot is installed, agreement.svg. Throws Error (bad_input) where a file cannot be written.
void write_bundle(const std::string& folder, const Checked& checked, const CheckContext& context,
                  const sweep::Ended& ended);

} // namespace recount::check
