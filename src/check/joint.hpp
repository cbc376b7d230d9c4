// Relations between native events that hold whatever a CPU executes (data/joint.txt), tested with the counts
// of one run; and the event that makes them fail. Pure.
#pragma once

#include "check/verdict.hpp"
#include "preset/standard.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::check {

/// Those of one PMU of libpfm4 ("skl"), in the format that data/joint.txt explains. Names of events have no
/// PMU.
[[nodiscard]] std::vector<preset::Identity> parse_joint_relations(std::string_view text,
                                                                  const std::string& pmu);
/// Those built in.
[[nodiscard]] std::vector<preset::Identity> joint_relations(const std::string& pmu);

/// Relations that the counts contradict: the interval of the difference of both sides, execution by
/// execution, lies outside of what is allowed, by nine standard errors at least. That is wider than the
/// projection, on the relation, of a joint confidence region of all counts at a place: for 20 events the
/// ellipsoid of 99.9 % has 6.7 standard errors in each direction (chi-squared of 20 degrees of
/// freedom: 45.3).
struct Inconsistency {
  std::vector<Broken>
      broken; ///< each relation once, by the witness and at the place where it was found first
  /// Without any one of these events, all relations of the rest hold. Those that also occur in a sum that
  /// holds are left out while others remain.
  std::vector<std::string> suspects;
  /// Where no one event is enough: these, together.
  std::vector<std::string> together;
};

/// Counts by event, as the relations name them.
[[nodiscard]] Inconsistency find_inconsistency(std::span<const Counted> counted,
                                               std::span<const preset::Identity> relations);

/// "skl::L2_RQSTS:MISS" without the PMU.
[[nodiscard]] std::string without_pmu(const std::string& event);

} // namespace recount::check
