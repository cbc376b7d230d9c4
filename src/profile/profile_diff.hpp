// Two profiles side by side: which parts have a larger or smaller share in the second.
#pragma once

#include "profile/profile_report.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace recount::profile {

/// A row of both profiles' group_places(), by the shares of one event.
struct ShareChange {
  ProfileRow row; ///< its names; tallies are empty
  Share before, after;
  /// Whether the intervals of the shares are disjoint.
  [[nodiscard]] bool differs() const { return before.high < after.low || after.high < before.low; }
};

/// The rows of both profiles by an event of each, those that differ first, then the largest change first.
[[nodiscard]] std::vector<ShareChange> compare_shares(const Profile& before, std::size_t event_before,
                                                      const Profile& after, std::size_t event_after, By by);

/// {event of `before`, event of `after`} with the same names, in the order of `after`.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> common_events(const Profile& before,
                                                                             const Profile& after);

/// At most `top` rows of an event.
[[nodiscard]] command::Table diff_table(const std::vector<ShareChange>& changes, const std::string& event,
                                        By by, std::size_t top);

/// All rows of the groupings, by event.
[[nodiscard]] std::string diff_json(const Profile& before, const Profile& after,
                                    const std::vector<std::pair<std::size_t, std::size_t>>& common,
                                    const std::vector<By>& by);

} // namespace recount::profile
