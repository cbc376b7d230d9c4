// The caches of a machine as found from readings, each property with its evidence.
#pragma once

#include "caches/infer/geometry.hpp"
#include "caches/infer/sampler.hpp"
#include "caches/infer/survey.hpp"
#include "caches/infer/translation.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// high: two independent routes agree, or a simulation is exact; medium: one route, clear; low: an estimate.
enum class Confidence { none, low, medium, high };
[[nodiscard]] std::string to_string(Confidence confidence);

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
[[nodiscard]] std::string to_string(StatedMatch agreement);

/// A property of a cache: a value with its evidence, or the reason why there is none.
struct Property {
  std::string name; ///< "capacity", "line", "ways", "latency", "penalty", "entries", "cost"
  std::string unit; ///< "bytes", "lines", "ns", "pages"
  std::optional<double> value;
  double tolerance = 0; ///< the true value is within value x (1 - tolerance ... 1 + tolerance)
  std::string unknown;  ///< why there is no value; empty when there is one
  Confidence confidence = Confidence::none;
  std::vector<Route> routes;
  std::string quantity;              ///< what the points are: "L1d misses per access"
  std::vector<EvidencePoint> points; ///< the readings around the decision
  std::string threshold;             ///< what separates them
  std::string against;               ///< the observation that would falsify the conclusion, a clause
  std::vector<std::string> words;    ///< the argument, in sentences
  std::string evidence;              ///< the decisive readings in one line
  // Filled in by compare(); inference itself never sees them.
  std::optional<double> stated;
  std::string stated_by; ///< "hwloc", "machine i7-9700"
  StatedMatch agreement = StatedMatch::not_stated;
  std::string remark; ///< the reason of a difference
};

/// What shows that others used a part of a cache while it was measured.
enum class SharingSign {
  hit_times_drift,   ///< working sets within the capacity take longer than a hit, by the reference chains, ns
  next_level_varies, ///< rounds of one working set in the next level differ by more than `expected`, a ratio
  later_look_differs ///< lines of one set that were retained some seconds later
};
[[nodiscard]] std::string to_string(SharingSign sign);
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

/// Called with the property under measurement: "ways of L1d".
using StageCallback = std::function<void(const std::string&)>;

/// Infers the caches from misses, time, or both; stated values are not used. Throws what the sampler throws,
/// and nothing for lack of evidence.
[[nodiscard]] Caches infer_caches(Sampler& sampler, const StageCallback& stage = {});

/// What must be known before a measurement ends: the first level, on which all others depend, the second as
/// well, or all that time can tell.
enum class Wanted { first_level, two_levels, everything };
/// Whether any of it is unknown, perhaps because of noise. Pure.
[[nodiscard]] bool needs_more_readings(const Caches& found, Wanted wanted = Wanted::first_level);

} // namespace recount::caches
