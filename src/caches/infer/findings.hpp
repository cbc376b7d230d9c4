// What an inference found: properties of cache levels and TLBs, each with its evidence, and their texts;
// those of a level from its geometry.
#pragma once

#include "caches/infer/gauge.hpp"
#include "caches/infer/geometry.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// high: two independent routes agree, or a simulation is exact; medium: one route, clear; low: an estimate.
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
inline constexpr double most_of_exact = 0.05;

/// A property of a cache: a value with its evidence, or the reason why there is none.
struct Property {
  std::string name = {}; ///< "capacity", "line", "ways", "latency", "penalty", "entries", "cost"
  std::string unit = {}; ///< "bytes", "lines", "ns", "pages"
  std::optional<double> value = {};
  std::string unknown = {}; ///< why there is no value; empty when there is one
  double tolerance = 0;     ///< the true value is within value x (1 - tolerance ... 1 + tolerance)
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

  void forget(const std::string& reason) {
    value.reset();
    unknown = reason;
  }
};
/// A property without a value.
[[nodiscard]] Property unknown_property(const std::string& name, const std::string& unit,
                                        const std::string& reason);
/// A time in ns with its argument.
[[nodiscard]] Property time_property(const std::string& name, double ns, Confidence confidence,
                                     const std::string& evidence);

/// What shows that others used a part of a cache while it was measured.
enum class SharingSign {
  hit_times_drift,   ///< working sets within the capacity take longer than a hit, by the reference chains, ns
  next_level_varies, ///< rounds of one working set in the next level differ by more than `expected`, a ratio
  later_look_differs ///< lines of one set that were retained some seconds later
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
/// A level of which nothing is known, for one reason.
[[nodiscard]] LevelFinding unknown_level(const std::string& name, const std::string& reason);

struct TlbFinding {
  std::string name; ///< "L1 DTLB", "L2 DTLB"
  Property entries, cost;
};

/// Everything that was found.
struct Caches {
  Witness witness;
  bool modelled = false, dead_counters = false;
  std::vector<LevelFinding> levels; ///< from the core outwards
  std::vector<TlbFinding> tlbs;
  Property memory;                 ///< latency beyond the last level
  std::vector<SizePoint> curve;    ///< time against working set; empty without a clock
  std::vector<std::string> method; ///< how it was measured, and what changed from level to level and why
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
/// One line per level: "L1d: 48 KiB, 12 ways, line 64 B, hit 1.28 ns, miss + 2.82 ns".
[[nodiscard]] std::vector<std::string> summary_lines(const Caches& found);

/// Every property in the order of tables, with the level it is of; memory only if it is known or was
/// measured.
[[nodiscard]] std::vector<std::pair<std::string, const Property*>> all_properties(const Caches& found);
/// The cells of a table of properties: level, property, found, stated, agreement, confidence.
[[nodiscard]] std::vector<std::vector<std::string>> property_rows(const Caches& found);

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
  std::string reason, names; ///< names: "capacity, ways"
};
[[nodiscard]] std::vector<UnknownProperties> unknown_properties(const LevelFinding& level);

// The properties of a level from its geometry, with their evidence.

/// Fills in capacity, line and ways from level.geometry, or why they are unknown. `quantity`: "L1d misses per
/// access"; `exact`: counts without noise.
void fill_from_geometry(LevelFinding& level, Gauge& gauge, const std::string& quantity, bool exact);

} // namespace recount::caches
