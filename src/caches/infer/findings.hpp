// The findings of a recorded run of recount caches, for the command, figures and the report.
#pragma once

#include "caches/infer/classic.hpp"
#include "caches/infer/compare.hpp"
#include "result/results_file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// Findings, compared with what is stated, and the grid if it was measured.
struct CachesFindings {
  Caches found;
  StatedCaches stated;
  std::vector<GridRow> rows;           ///< the grid; empty: not recorded
  std::vector<ClassicReading> classic; ///< values from its curves
  std::string cpu_model;
  std::optional<int> cpu; ///< measured on; nothing: not pinned, or modelled
};

/// In the header of a run: other sources of stated caches, whether they agree, and sharing.
struct StatedNotes {
  std::string sources;                                ///< "hwloc, sysfs, CPUID": those that agree
  std::string otherwise;                              ///< "CPUID: L2 1 MiB"; empty: none
  std::vector<std::pair<std::string, int>> shared_by; ///< level, hardware threads
};
void note_stated(result::Run& run, const StatedNotes& notes);

/// The stated caches of a run: by the described `machine` if one is named, by the machine that was
/// simulated, else in the run's header. Throws recount::Error (bad_input) for an unknown machine.
[[nodiscard]] StatedCaches stated_on_record(const result::Run& run, const std::string& machine = {});

/// Infers again from the record and compares. Throws recount::Error (bad_input) when the run is none that
/// result::is_inference() accepts, and as stated_on_record() does.
[[nodiscard]] CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                                const std::string& machine = {});

/// Whether the grid says otherwise than the inference, which measures at more sizes: a capacity or a number
/// of ways that was found is not within the bounds of the reading. Modelled and counted misses are of another
/// source and stay.
[[nodiscard]] bool contradicts(const ClassicReading& reading, const Caches& found);

/// The full argument: properties, then values from the grid.
[[nodiscard]] std::vector<Paragraph> justification(const CachesFindings& findings);

/// One line per level: "L1d: 48 KiB, 12 ways, line 64 B, hit 1.28 ns, miss + 2.82 ns".
[[nodiscard]] std::vector<std::string> summary_lines(const Caches& found);

} // namespace recount::caches
