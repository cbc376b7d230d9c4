// What can be checked on this machine: presets and events, and the kernels that prove them.
#pragma once

#include "kernel/proofs.hpp"
#include "preset/identities.hpp"

#include <string>
#include <vector>

namespace recount::study {

/// A preset of the table in force, or a standard one.
struct Candidate {
  std::string name;
  std::string trouble; ///< why running a kernel would tell nothing; empty: it may
};

/// Everything that a check stands on.
struct Ground {
  std::vector<Candidate> presets; ///< the standard ones, then others of the table, then user events
  std::vector<kernel::Proof> proofs;
  std::vector<kernel::Unprovable> unprovable;
  std::vector<preset::Identity> identities;
  preset::CpuKind kind = preset::CpuKind::any;
  std::string table;              ///< the preset table; empty: there is none
  std::vector<std::string> notes; ///< what concerns all: no core PMU, caches that nobody states
};

/// Reads the tables that PAPI reads (see preset::Here) and opens each event once. PAPI itself is met in
/// forked children only. Throws Error (bad_input) when a table cannot be read, or kills PAPI as it starts.
[[nodiscard]] Ground ground_here();

} // namespace recount::study
