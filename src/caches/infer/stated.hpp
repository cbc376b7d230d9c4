// Compares found with stated caches. The inference itself has no access to stated values.
#pragma once

#include "caches/infer/classic.hpp"
#include "caches/infer/findings.hpp"
#include "result/results_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// The stated values of one level; 0: not stated.
struct StatedLevel {
  std::string name; ///< "L1d"
  std::int64_t size = 0, line = 0;
  std::int64_t ways = 0; ///< -1: fully associative
  int shared_by = 1;     ///< hardware threads
};

/// The stated caches of a machine, and their source.
struct StatedCaches {
  std::string source; ///< "hwloc", "machine i7-9700"
  std::vector<StatedLevel> levels = {};
  std::string hypervisor = {}; ///< of the measured machine; empty: none seen
  std::string otherwise = {};  ///< sources that differ, and their values; empty: none
};

/// Fills in stated, stated_by, agreement and remark of every property; nothing else is touched.
void compare(Caches& found, const StatedCaches& stated);

/// In the header of a run: other sources of stated caches, whether they agree, and sharing.
struct StatedNotes {
  std::string sources;                                ///< "hwloc, sysfs, CPUID": those that agree
  std::string otherwise;                              ///< "CPUID: L2 1 MiB"; empty: none
  std::vector<std::pair<std::string, int>> shared_by; ///< level, hardware threads
};
void note_stated(result::Run& run, const StatedNotes& notes);

/// The findings of a run of recount caches, compared with what is stated, and the grid if it was measured.
struct CachesFindings {
  Caches found;
  StatedCaches stated;
  std::vector<GridRow> rows;           ///< the grid; empty: not recorded
  std::vector<ClassicReading> classic; ///< values from its curves
  std::string cpu_model;
  std::optional<int> cpu; ///< measured on; nothing: not pinned, or modelled
};

/// Compares what was found in a run with the described `machine` if one is named, else with the machine that
/// was simulated, else with the caches in the header of the run. Throws recount::Error (bad_input) for an
/// unknown machine.
[[nodiscard]] CachesFindings make_findings(Caches found, const result::Results& results,
                                           const result::Run& run, const std::string& machine = {});

/// Infers again from the record. Throws recount::Error (bad_input) when the run is none that
/// result::is_inference() accepts, and as make_findings() does.
[[nodiscard]] CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                                const std::string& machine = {});

/// Whether a reading of times from the grid contradicts the inference, which measures at more sizes: a
/// capacity or a number of ways that was found is not within the bounds of the reading. Modelled and counted
/// misses are of another source and contradict nothing.
[[nodiscard]] bool contradicts(const ClassicReading& reading, const Caches& found);

/// The full argument: properties, then values from the grid, then sources of stated values that differ.
[[nodiscard]] std::vector<Paragraph> justification(const CachesFindings& findings);

} // namespace recount::caches
