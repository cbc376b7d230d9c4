// Which pages have the colour of a group. Used by the search for page colours only.
#pragma once

#include "caches/infer/colour_looks.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace recount::caches {

/// Tries pages in the place of one of a group that overflows a set.
class ColourMembers : protected ColourLooks {
public:
  using ColourLooks::ColourLooks;

protected:
  /// Adds the pages of the group's colour to the members, and gives the others.
  Pages others_of(const Pages& pages, const Pages& group, Pages& members) {
    Pages others;
    for (std::size_t from = 0; from < pages.size(); from += most_together) {
      const std::size_t end = std::min(from + most_together, pages.size());
      sort_out({pages.begin() + static_cast<std::ptrdiff_t>(from),
                pages.begin() + static_cast<std::ptrdiff_t>(end)},
               group, most_together, members, others);
    }
    return others;
  }

  /// Sorts candidates into members of the group's colour and others, many at a time: a full set of the group
  /// overflows if any candidate belongs to it. Pages known not to belong fill up, so that the first level
  /// holds none of the lines and every look visits as many.
  void sort_out(const Pages& candidates, const Pages& group, std::size_t chunk, Pages& members,
                Pages& others) {
    if (!any_belongs(candidates, group, chunk, others)) {
      others.insert(others.end(), candidates.begin(), candidates.end());
      return;
    }
    if (candidates.size() == 1) {
      (belongs_after_all(candidates.front(), group, ahead_to_fit) ? members : others)
          .push_back(candidates.front());
      return;
    }
    const auto middle = candidates.begin() + std::ssize(candidates) / 2;
    sort_out({candidates.begin(), middle}, group, chunk, members, others);
    sort_out({middle, candidates.end()}, group, chunk, members, others);
  }

  /// A quick look, and a thorough one if it sees an overflow.
  bool any_belongs(const Pages& candidates, const Pages& group, std::size_t chunk, const Pages& others) {
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    Pages tried = without(group, group.size() - 1, group.size());
    tried.insert(tried.end(), candidates.begin(), candidates.end());
    for (std::size_t i = candidates.size(); i < chunk && i - candidates.size() < others.size(); ++i)
      tried.push_back(others[others.size() - 1 - (i - candidates.size())]);
    const auto visits = static_cast<double>(tried.size() + aside_.size());
    if (task_.whole) return overflows(tried);
    // Of as many pages: with more of them than a TLB has entries, every visit takes longer.
    const double plain = plain_of(tried);
    double& least = least_.try_emplace(tried.size(), std::numeric_limits<double>::infinity()).first->second;
    const auto over = [&](Look look) {
      const double ns = visit_time(tried, Lines::together, look);
      least = std::min(least, ns);
      const double fitting = std::clamp(least, plain + step_seen * step_, plain + step_at_most * step_);
      return (ns - fitting) * visits >= overflow_ / 2 * penalty_;
    };
    return over(Look::quick) && over(Look::thorough);
  }

  /// The same without a short measurement. While another program has a line in the set, the group overflows
  /// with any page, and without one of its own: that is no evidence on this page.
  bool belongs_after_all(std::int64_t page, Pages group, int ahead_that_fit = ahead_to_overflow) {
    group.back() = page;
    return overflows(group, ahead_that_fit) && !overflows(without(group, group.size() - 1, group.size()));
  }
  bool one_colour(const Pages& group, const Pages& other) {
    return belongs_after_all(group.front(), other) || belongs_after_all(other.front(), group);
  }

private:
  static constexpr std::size_t most_together = 12; ///< pages tried together
  /// Of the step to the level, at least and at most, where the first level holds no line.
  static constexpr double step_seen = 0.7, step_at_most = 1.1;
  std::map<std::size_t, double> least_; ///< ns a visit when nothing leaves, by the number of pages
};

} // namespace recount::caches
