// The questions of a laboratory on caches, answered from what a report shows.
#pragma once

#include "commands/caches/infer/findings.hpp"
#include "show/document/section.hpp"

#include <map>
#include <string>
#include <vector>

namespace recount::caches {

/// Values from the curves of a grid, and the table with its cells.
struct GridReading {
  ClassicReading reading;
  std::string caption;
};

/// What the results of one machine show of its caches.
struct CacheEvidence {
  std::vector<CachesFindings> found;
  std::vector<GridReading> readings;
  std::string uncounted;                      ///< why no misses were counted; empty: they were
  bool modelled = false;                      ///< misses were modelled
  std::map<std::string, std::string> presets; ///< formulas, by preset
};

/// The caption of the table of the findings.
[[nodiscard]] std::string findings_caption(const CachesFindings& findings);

/// The answer to what changes for L2, which is the method's.
inline constexpr const char* changes_for_l2 =
    "Sizes around the capacity of L2 in place of that of L1d, because "
    "smaller arrays are served by L1d. Strides "
    "of at least a line, or a multiple of the size of a way of L1d, "
    "because only accesses that miss in L1d reach "
    "L2. PAPI_L2_DCM in place of PAPI_L1_DCM.";

/// Times first, then L1, then what changes for L2, L2, and the comparison with what the system states.
[[nodiscard]] std::vector<document::Answer> answer_questions(const CacheEvidence& evidence);

} // namespace recount::caches
