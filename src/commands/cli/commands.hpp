// Tables of all commands, figures and report sections.
#pragma once

#include "commands/compare/compare.hpp"
#include "show/command/command.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <vector>

namespace recount::cli {

/// All commands, in the order of recount(1).
[[nodiscard]] std::vector<command::Command> commands();
/// All figures, in the order in which the one that suits some results is looked for.
[[nodiscard]] const std::vector<plot::Figure>& figures();
/// The sections of a report, in its order.
[[nodiscard]] const std::vector<document::Section>& sections();

/// Capacity, line, ways and latency of each level, entries of TLBs, and the latency of memory, inferred again
/// from the record of a run of recount caches: for recount compare.
[[nodiscard]] std::vector<compare::MachineProperty> inferred_caches(const result::Results& results,
                                                                    const result::Run& run);

} // namespace recount::cli
