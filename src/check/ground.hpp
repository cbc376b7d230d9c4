// What can be checked on this machine: presets and events, and the kernels with expected counts for them.
#pragma once

#include "kernel/proofs.hpp"
#include "preset/view.hpp"

#include <map>
#include <string>
#include <vector>

namespace recount::check {

/// A preset of the table in force, or a standard one.
struct Candidate {
  std::string name;
  std::string reason;                  ///< why a run could not count it; empty: it can be tried
  std::vector<std::string> terms = {}; ///< the events of a formula with several
};

/// A row of a preset table.
struct TableRow {
  int line = 0;
  std::string text;
};

/// The inputs of a check.
struct CheckContext {
  std::vector<Candidate> presets; ///< the standard ones, then others of the table, then user events
  std::vector<kernel::Proof> proofs;
  std::vector<kernel::Proof> beside;       ///< what the same points state of other presets
  std::vector<kernel::Relation> relations; ///< between counts of one preset at two points
  std::vector<kernel::Unprovable> unprovable;
  std::vector<preset::Identity> identities;
  preset::CpuKind kind = preset::CpuKind::any;
  std::string table;                    ///< the preset table; empty: there is none
  std::map<std::string, TableRow> rows; ///< by preset, where the table has one
  std::vector<std::string> notes;       ///< what concerns all: no core PMU, caches of unknown size
};

/// Reads the tables that PAPI reads (see preset::MachinePresets) and opens each event once. PAPI itself runs
/// in forked children only. Throws Error (bad_input) when a table cannot be read, or crashes PAPI at
/// initialisation.
[[nodiscard]] CheckContext check_context();

} // namespace recount::check
