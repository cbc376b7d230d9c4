// What an inference found: properties of cache levels and TLBs, each with its evidence, and their texts;
// those of a level from its geometry.
#pragma once

#include "base/statistics/statistics.hpp"
#include "commands/caches/infer/geometry.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "run/result/results_file.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::caches {

/// high: two independent routes agree, or the readings are exact; medium: one route, clear; low: an estimate.
enum class Confidence { none, low, medium, high };
[[nodiscard]] const char* to_string(Confidence confidence);

/// One reading that supports a conclusion.
struct EvidencePoint {
  std::string at; ///< "48 KiB at stride 64"
  double value = 0;
};

/// One derivation of a value.
struct Route {
  std::string name; ///< a clause: "largest working set that fits"
  double value = 0;
};

/// A found value compared with the stated one. near: an estimate whose interval has the stated value.
enum class StatedMatch { not_stated, agrees, near, differs, not_found };
[[nodiscard]] const char* to_string(StatedMatch agreement);

/// Tolerance; a value with a wider interval is an estimate.
inline constexpr double max_of_exact = 0.05;

/// A property of a cache: a value with its evidence, or the reason why there is none.
struct Property {
  std::string name = {}; ///< "capacity", "line", "ways", "latency", "penalty", "entries", "cost"
  std::string unit = {}; ///< "bytes", "lines", "ns", "pages"
  std::optional<double> value = {};
  Reason unknown = {};  ///< why there is no value; empty when there is one
  double tolerance = 0; ///< the true value is within value x (1 - tolerance ... 1 + tolerance)
  Confidence confidence = Confidence::none;
  std::vector<Route> routes = {};
  std::string quantity = {};              ///< what the points are: "L1d misses per access"
  std::vector<EvidencePoint> points = {}; ///< the readings around the decision
  std::string threshold = {};             ///< what separates them
  std::string against = {};               ///< the observation that would falsify the conclusion, a clause
  std::string evidence = {};              ///< the decisive readings in one line
  std::vector<std::string> words = {};    ///< the rest of the argument, in sentences
  // Filled in by compare(); inference itself never sees them.
  std::optional<double> stated = {};
  std::string stated_by = {}; ///< "hwloc", "machine i7-9700"
  StatedMatch agreement = StatedMatch::not_stated;
  std::string remark = {}; ///< the reason of a difference

  void forget(const Reason& reason) {
    value.reset();
    unknown = reason;
  }
};
/// A property without a value.
[[nodiscard]] Property unknown_property(const std::string& name, const std::string& unit,
                                        const Reason& reason);
/// A time in ns with its argument.
[[nodiscard]] Property time_property(const std::string& name, double ns, Confidence confidence,
                                     const std::string& evidence);

/// What shows that others used a part of a cache while it was measured.
enum class SharingSign {
  hit_times_drift,   ///< working sets within the capacity take longer than a hit, by the reference chains, ns
  next_level_varies, ///< rounds of one working set in the next level differ by more than `expected`, a ratio
  repetition_differs ///< lines of one set that were retained some seconds later
};
[[nodiscard]] const char* to_string(SharingSign sign);
struct SharedUse {
  SharingSign sign;
  std::int64_t bytes = 0; ///< of the working set; 0: of none
  double expected = 0, measured = 0;
};

/// One level of data cache.
struct LevelFinding {
  std::string name;    ///< "L1d", "L2", "L3"
  std::string measure; ///< what a miss is measured by: "L1d misses per access (PAPI_L1_DCM)"
  Property capacity, line, ways, latency, penalty;
  bool effective = false; ///< shared: the part that this machine has at present, not the installed size
  std::vector<SharedUse> shared_use; ///< of a private level that is effective
  Geometry geometry;                 ///< for figures; empty if derived otherwise
};
/// "L1d" for 0, "L2" for 1 ...
[[nodiscard]] std::string level_name(std::size_t level);
/// "L1d misses per access (PAPI_L1_DCM)" for 0.
[[nodiscard]] std::string miss_measure(std::size_t level, const Abilities& can);
/// A level of which nothing is known, for one reason.
[[nodiscard]] LevelFinding unknown_level(const std::string& name, const Reason& reason);

struct TlbFinding {
  std::string name; ///< "L1 DTLB", "L2 DTLB"
  Property entries, cost;
};

/// Everything that was found.
struct Caches {
  Witness witness;
  std::vector<LevelFinding> levels; ///< from the core outwards
  std::vector<TlbFinding> tlbs;
  Property memory;                     ///< latency beyond the last level
  std::vector<SizePoint> curve;        ///< time against working set; empty without a clock
  std::vector<std::string> counted_by; ///< "L1d misses: PAPI_L1_DCM", of each counted level and TLB
  std::vector<std::string> method;     ///< how it was measured, and what changed from level to level and why
  std::size_t readings = 0;
  std::size_t rounds = 0, disturbed = 0; ///< timed; of them interrupted by other programs or the hypervisor
};

/// A value with its unit: "48 KiB", "12", "1.28 ns", "about 10 MiB"; "unknown".
[[nodiscard]] std::string value_text(const Property& property);
[[nodiscard]] std::string stated_text(const Property& property);
[[nodiscard]] std::string ways_text(const Property& ways); ///< "8 ways"
/// "L1d", "L3 (effective)".
[[nodiscard]] std::string level_text(const LevelFinding& level);
/// The signs that others used a part of the level; empty: none.
[[nodiscard]] std::string shared_use_text(const LevelFinding& level);
/// A probability that may be too small for four digits: "0.0012", "below 0.0001".
[[nodiscard]] std::string rare_text(double probability);

/// "fits: 32 KiB; does not fit: 32.06 KiB": two sizes with different texts, which contain the capacity or are
/// said not to. Pure.
[[nodiscard]] std::string boundary_text(const Boundary& onset, std::int64_t capacity);
/// One line per level: "L1d: 48 KiB, 12 ways, line 64 B, hit 1.28 ns, miss + 2.82 ns".
[[nodiscard]] std::vector<std::string> summary_lines(const Caches& found);

/// Every property in the order of tables, with the level it is of; memory only if it is known or was
/// measured.
[[nodiscard]] std::vector<std::pair<std::string, const Property*>> all_properties(const Caches& found);

/// The evidence and the rest of the argument, in sentences.
[[nodiscard]] std::vector<std::string> argument_words(const Property& property);
/// The full argument of each property, with the comparison with the stated value.
struct Paragraph {
  std::string title; ///< "L1d capacity: 48 KiB"
  std::string text;
};
[[nodiscard]] std::vector<Paragraph> justification(const Caches& found);

/// The properties of capacity, line and ways that are unknown, their names joined where the reason is one.
struct UnknownProperties {
  Reason reason;
  std::string names; ///< "capacity, ways"
};
[[nodiscard]] std::vector<UnknownProperties> unknown_properties(const LevelFinding& level);

// The properties of a level from its geometry, with their evidence.

/// Fills in capacity, line and ways from level.geometry, or why they are unknown.
void fill_from_geometry(LevelFinding& level, Gauge& gauge);

// Compares found with stated caches. The inference itself has no access to stated values.

/// The stated caches of a machine, and their source.
struct StatedCaches {
  std::string source; ///< "machine i7-9700", "hwloc, CPUID": those that agree
  std::vector<result::CacheNote> levels = {};
  std::string hypervisor = {};               ///< of the measured machine; empty: none seen
  std::string otherwise = {};                ///< "CPUID: L2 1 MiB": sources that differ; empty: none
  std::map<std::string, int> shared_by = {}; ///< hardware threads, by level
};

/// Fills in stated, stated_by, agreement and remark of every property; nothing else is touched.
void compare(Caches& found, const StatedCaches& stated);

/// Puts source, otherwise and shared_by into the header of a run.
void note_stated(result::Run& run, const StatedCaches& stated);

// Cache properties from the curves of a grid of power-of-two sizes and strides, and the rows of that grid.

/// One (size, stride) of a grid, per access: counts are medians over its repetitions, times `times`.
struct GridRow {
  std::string kernel; ///< "stride", "chase"
  std::int64_t size = 0, stride = 0;
  Witness counted_by;                             ///< witness of the misses; empty: none
  std::vector<std::optional<double>> misses = {}; ///< of L1, L2 ...
  std::optional<double> ns = {}, cycles = {};     ///< cycles: PAPI_TOT_CYC
  bool disturbed = false;                         ///< every repetition of the time was
  statistics::Statistic times = statistics::Statistic::minimum;
};

/// The rows of each run: every size and stride of its kernels stride and chase, by kernel, size and stride;
/// what an inference visited (other strides than powers of two, other orders) is not part of it. The times of
/// an inference are minima of what was undisturbed, since disturbances only add time; those of a sweep are
/// what its tables show.
[[nodiscard]] std::vector<std::vector<GridRow>> grid_rows(const result::Results& results,
                                                          std::span<const result::Run> runs);

/// A value between what was tried: `value` or more, less than `below` (0: no bound was seen).
struct ClassicValue {
  std::optional<std::int64_t> value;
  std::int64_t below = 0;
  std::string unknown; ///< why there is no value
};

/// The properties of one level according to its curves.
struct ClassicReading {
  std::string level;              ///< "L1d"
  std::string kernel;             ///< "stride", "chase"
  bool misses = false;            ///< the curves are misses, not times
  bool modelled = false;          ///< the misses are
  std::string curves;             ///< "average misses (PAPI_L1_DCM, model:i7-9700) of the kernel stride"
  ClassicValue capacity, line;    ///< bytes; the line is exact where it is a power of two
  ClassicValue ways;              ///< lines
  std::optional<double> penalty;  ///< ns: the difference between the plateaus, of dependent loads only
  std::vector<std::string> words; ///< the argument, drawn from the rows
};

/// A reading for each level whose misses were counted (or modelled), and one by time for L1 by each kernel
/// that was timed. Pure; never throws for want of rows.
[[nodiscard]] std::vector<ClassicReading> classic_readings(const std::vector<GridRow>& rows);

/// "8 to 15", "unknown".
[[nodiscard]] std::string classic_ways_text(const ClassicReading& reading);
/// "capacity between 32 and 64 KiB, line 64 B, ways unknown".
[[nodiscard]] std::string classic_values_text(const ClassicReading& reading);
/// The argument, and why the rest is unknown.
[[nodiscard]] std::string classic_text(const ClassicReading& reading);

/// The findings of a run of recount caches, compared with what is stated, and the grid if it was measured.
struct CachesFindings {
  Caches found;
  StatedCaches stated;
  std::vector<GridRow> rows;           ///< the grid; empty: not recorded
  std::vector<ClassicReading> classic; ///< values from its curves
  std::string cpu_model;
  std::optional<int> cpu; ///< measured on; nothing: not pinned
};

/// Infers from the record, and compares with the described `machine` if one is named, else with the caches in
/// the header of the run. Throws recount::Error (bad_input) when the run is none that result::is_inference()
/// accepts, and for an unknown machine.
[[nodiscard]] CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                                const std::string& machine = {});

/// "6 of 9 agree, 2 not found, 1 differs: L3 capacity".
[[nodiscard]] std::string agreement_text(const CachesFindings& findings);
/// The same in a sentence, with the source of the stated values, and both values where they differ.
[[nodiscard]] std::string comparison_text(const CachesFindings& findings);

/// Whether a reading of times from the grid contradicts the inference, which measures at more sizes: a
/// capacity or a number of ways that was found is not within the bounds of the reading. Modelled and counted
/// misses are of another source and contradict nothing.
[[nodiscard]] bool contradicts(const ClassicReading& reading, const Caches& found);

/// The full argument: properties, then values from the grid, then sources of stated values that differ.
[[nodiscard]] std::vector<Paragraph> justification(const CachesFindings& findings);

// The caches of a machine from readings, each property with its evidence.

/// Called with the part being measured: "working sets", "L1d", "TLB", "L2".
using StageCallback = std::function<void(const std::string&)>;

/// Infers the caches from misses, time, or both; stated values are not used. Throws what the sampler throws,
/// and nothing for lack of evidence.
[[nodiscard]] Caches infer_caches(Sampler& sampler, const StageCallback& stage = {});

/// Parts that more readings would not change: the first level, on which the others depend; the second as
/// well; all levels and TLBs that can be timed.
enum class Settled { nothing, first_level, two_levels, all };
/// The parts that are known, or cannot be: of dead counters. Pure.
[[nodiscard]] Settled settled(const Caches& found);

} // namespace recount::caches
