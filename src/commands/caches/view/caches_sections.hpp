// The sections and figures of a report about caches.
#pragma once

#include "commands/caches/infer/findings.hpp"
#include "run/result/results_file.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recount::caches {

/// One row per property.
[[nodiscard]] show::Table findings_table(const CachesFindings& findings);

/// The caches that were found, compared with what is stated.
[[nodiscard]] document::Section caches_section();
/// Curves of time and misses over size and stride.
[[nodiscard]] document::Section sweeps_section();
/// Both in the order of the laboratory: access times, misses of L1, of L2, comparison with the system.
[[nodiscard]] document::Section laboratory_section();

// The figures of recorded runs of recount caches.

/// "caches" (a summary), "caches-latency", "caches-ways", "caches-line". Each run on record gets panels of
/// its own. To compose one throws recount::Error (bad_input) when the results lack its data (no such run, no
/// times) or it has more panels than fit on a page.
[[nodiscard]] std::vector<plot::Figure> caches_figures();

// Results of sweeps over size and stride that somebody else measured, for example by hand in a laboratory.

/// Reads CSV (see base::parse_csv()) with the columns size and stride (bytes; 32K, 1M), kernel (stride, the
/// default, or chase), and averages per access: ns, l1_misses, l2_misses, l3_misses. An empty field is no
/// value. The values become observations of one access by the witness "published", of a run of their own.
/// Throws recount::Error (bad_input) naming file and line.
[[nodiscard]] result::Results parse_external(std::string_view text, const std::string& file);
[[nodiscard]] result::Results read_external(const std::string& file);

/// A stride in bytes; 0: of all strides together.
[[nodiscard]] std::string stride_text(std::int64_t bytes);

/// A table of the cells of external results that contradict the modelled misses in `all`, each with the
/// reason for the modelled value; or the statement that all agree, or that nothing was modelled at these
/// points.
[[nodiscard]] std::vector<document::Block> compare_external(const document::Part& external,
                                                            const result::Results& all);

// The questions of a laboratory on caches, answered from what a report shows.

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
