// Compares found with stated caches. The inference itself has no access to stated values.
#pragma once

#include "caches/infer/classic.hpp"
#include "caches/infer/inference.hpp"
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
  std::vector<StatedLevel> levels;
  std::string hypervisor; ///< of the machine that was looked at; empty: none seen
  std::string otherwise;  ///< sources that differ, and their values; empty: none
};

/// Fills in stated, stated_by, agreement and remark of every property; nothing else is touched.
void compare(Caches& found, const StatedCaches& stated);

/// The full argument: one paragraph for each property, with the comparison with the stated value.
struct Paragraph {
  std::string title; ///< "L1d capacity: 48 KiB"
  std::string text;
};
[[nodiscard]] std::vector<Paragraph> justification(const Caches& found);

/// A value with its unit: "48 KiB", "12", "1.28 ns", "about 10 MiB".
[[nodiscard]] std::string value_text(const Property& property);
/// "L1d", "L3 (effective)".
[[nodiscard]] std::string level_text(const LevelFinding& level);
/// The signs that others used a part of the level; empty: none.
[[nodiscard]] std::string shared_use_text(const LevelFinding& level);
[[nodiscard]] std::string ways_text(const Property& ways); ///< "8 ways"
[[nodiscard]] std::string stated_text(const Property& property);

// The findings of a recorded run of recount caches, for the command, figures and the report.

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

// Properties of a level, with evidence, from its geometry.

[[nodiscard]] std::vector<TlbFinding> tlb_findings(const Translation& translation, bool exact);
/// By time, where it was not measured what as many lines in half as many pages cost: takes the entries back
/// of those beyond the first that are as many as the first cache has lines or sets. One line per page and
/// adjacent lines then cost different times in the cache.
void doubt_tlbs(std::vector<TlbFinding>& tlbs, const Translation& translation, const LevelFinding& first);
/// The source of the readings of a level, and the name of a miss in it.
struct Witnessed {
  CachedSampler& cached;
  Gauge& gauge;
  std::string level;    ///< "L1d"
  std::string quantity; ///< "L1d misses per access"
  bool exact = false;
};

/// capacity, line and ways from a geometry, in place.
void fill_from_geometry(LevelFinding& level, const Witnessed& by);

/// A property without a value.
[[nodiscard]] Property unknown_property(const std::string& name, const std::string& unit,
                                        const std::string& reason);
/// A time with its argument.
[[nodiscard]] Property time_property(const std::string& name, double ns, Confidence confidence,
                                     std::vector<std::string> words);

/// A probability that may be too small to be told: "0.0012", "below 0.0001".
[[nodiscard]] std::string rare_text(double probability);

} // namespace recount::caches
