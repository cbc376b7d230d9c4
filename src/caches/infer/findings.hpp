// All that a run of recount caches on record comes to: for the command, for figures, for a report.
#pragma once

#include "caches/infer/classic.hpp"
#include "caches/infer/compare.hpp"
#include "result/read.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::analysis {

/// Findings, compared with what is stated, and the grid if it was measured.
struct CachesFindings {
  Caches found;
  StatedCaches stated;
  std::vector<GridRow> rows;           ///< the laboratory's table; empty: no grid on record
  std::vector<ClassicReading> classic; ///< what its curves say
  std::string cpu_model;
  std::optional<int> cpu; ///< measured on; nothing: not pinned, or modelled
};

/// Where the header of a run keeps who else stated its caches, whether they agree, and who shares them.
struct StatedNotes {
  std::string sources;   ///< "hwloc, sysfs, CPUID": those that agree
  std::string otherwise; ///< "CPUID: L2 1 MiB"; empty: nobody states anything else
  std::vector<std::pair<std::string, int>> shared_by; ///< level, hardware threads
};
void note_stated(result::Run& run, const StatedNotes& notes);

/// What is stated beside a run: by the described `machine` if one is named, by the machine that was
/// simulated, else in the run's header. Throws recount::Error (bad_input) for an unknown machine.
[[nodiscard]] StatedCaches stated_on_record(const result::Run& run, const std::string& machine = {});

/// Infers again from the record and compares. Throws recount::Error (bad_input) when the run is none that
/// result::is_inference() accepts, and as stated_on_record() does.
[[nodiscard]] CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                                const std::string& machine = {});

/// The written justification: properties first, then what the grid says, then how it was measured.
[[nodiscard]] std::vector<Paragraph> justification(const CachesFindings& findings);

/// One line a level: "L1d: 48 KiB, 12 ways, lines of 64 B, hit 1.28 ns, miss + 2.82 ns".
[[nodiscard]] std::vector<std::string> summary_lines(const Caches& found);

} // namespace recount::analysis
