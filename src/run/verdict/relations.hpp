// Relations between counts of one program on one CPU, whoever counted them: which ones hold by the rows of
// the CPU, which ones the counts contradict, and what is then wrong. Pure.
#pragma once

#include "count/preset/view.hpp"
#include "run/verdict/verdict.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace recount::check {

/// Why a relation holds.
enum class Ground {
  rows,    ///< the events of the rows, and relations between events, imply it
  meaning, ///< the names of the presets imply it; no rows are known
  neither  ///< the names imply it, but the rows count something else
};

struct Relation {
  preset::Identity identity;
  Ground ground = Ground::meaning;
  std::string condition = {}; ///< of neither: what the rows require: "L1D:REPLACEMENT = 0"
  std::map<std::string, std::int64_t> events = {}; ///< left - right over native events; empty: not known
};

/// Relations between native events of a PMU: of joint.txt and the sums of lint that it has, and of the unit
/// masks of the events in the view: hits and misses of one kind, and parts of a mask ALL or ANY.
[[nodiscard]] std::vector<preset::Identity> event_relations(const preset::CpuView& view);

struct Relations {
  std::vector<Relation> all;
  std::map<std::string, std::set<std::string>> counted_by; ///< by native event: the metrics that use it
};

/// All relations between these metrics (presets and native events) that are known to hold for any program:
/// recount-identities(7), sums of one or two presets whose rows count the same events, and event_relations().
/// `view`: rows of the CPU; null: none are known.
[[nodiscard]] Relations find_relations(const std::set<std::string>& metrics, const preset::CpuView* view,
                                       preset::CpuKind kind);

/// The counts of a place, and how exact they are.
struct CountedPlace {
  Counted counted;                           ///< a repetition is a process with one pass
  std::map<std::string, double> errors = {}; ///< half the last digit, or half an interval, by metric
  std::set<std::string> scaled = {};         ///< multiplexed: estimates
};

/// Values that a wrong one would explain: a metric, or a native event and with it all presets that count it.
struct Culprit {
  std::set<std::string> metrics;
  std::string event; ///< empty: the value of the metric alone
  auto operator<=>(const Culprit&) const = default;
};

/// What the counts of a place contradict.
struct PlaceFindings {
  const CountedPlace* place = nullptr;
  std::vector<std::pair<const Relation*, Tested>> broken = {}; ///< these must hold
  std::vector<std::pair<const Relation*, Tested>> explained =
      {};                              ///< Ground::neither: not an error of the counts
  std::size_t held = 0, undecided = 0; ///< relations that must hold
  /// Each explains alone what is broken: one wrong value, with which all relations hold when it is corrected;
  /// else the smallest sets of which each broken relation has one. Empty: more than three values are wrong.
  std::vector<std::vector<Culprit>> alternatives = {};
};

/// Tests all relations. With known rows, sides may differ by 0.1 %, with fewer than five repetitions by 2 %,
/// with fewer than three by 10 %, and by the errors; without rows by as much as broken() allows.
[[nodiscard]] PlaceFindings test_place(const CountedPlace& place, const Relations& relations);

} // namespace recount::check
