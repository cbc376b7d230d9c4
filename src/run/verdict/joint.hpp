// Relations between native events that hold whatever a CPU executes (data/joint.txt), tested with the counts
// of one run; and the event that makes them fail. Pure.
#pragma once

#include "count/preset/standard.hpp"
#include "run/verdict/verdict.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::check {

/// "A = B + C", "A <= B".
[[nodiscard]] preset::Identity parse_event_relation(std::string_view text, std::string_view why);

/// The relations of one PMU of libpfm4 ("skl"); data/joint.txt describes the format. Names of events have no
/// PMU.
[[nodiscard]] std::vector<preset::Identity> parse_joint_relations(std::string_view text,
                                                                  const std::string& pmu);
/// The relations of data/joint.txt.
[[nodiscard]] std::vector<preset::Identity> joint_relations(const std::string& pmu);

/// Relations that the counts contradict: the interval of the difference of both sides, execution by
/// execution, is outside of what is allowed by at least nine standard errors. A joint confidence region of
/// all counts is narrower: for 20 events the ellipsoid of 99.9 % has 6.7 standard errors in each direction
/// (chi-squared of 20 degrees of freedom: 45.3).
struct Inconsistency {
  std::vector<Broken> broken; ///< each relation once: the first place and witness that contradict it
  /// Each of these alone explains all that is broken: see PlaceFindings.
  std::vector<std::string> suspects;
  /// Without suspects: events such that each broken relation has one of them.
  std::vector<std::string> together;
};

/// Counts by event, as the relations name them.
[[nodiscard]] Inconsistency find_inconsistency(std::span<const Counted> counted,
                                               std::span<const preset::Identity> identities);

/// "skl::L2_RQSTS:MISS" without the PMU.
[[nodiscard]] std::string without_pmu(const std::string& event);

} // namespace recount::check
