#include "caches/infer/colours.hpp"

#include "base/random.hpp"
#include "caches/infer/cached_sampler.hpp"
#include "caches/infer/colour_looks.hpp"
#include "caches/infer/colour_sets.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace recount::caches {

namespace {

constexpr double typical_overflow = 0.35; ///< of what a set with one line too many was seen to lose
constexpr std::size_t most_together = 12; ///< pages tried together
constexpr std::size_t first_prefix = 24;
constexpr std::size_t groups_to_read = 6; ///< for each set of the level above that their lines fall into
constexpr std::size_t enough_groups = 3;  ///< fewer may be noise
constexpr double step_seen = 0.7; ///< of the step to the level, at least, where the first level holds no line
constexpr double unlikely = 4;    ///< roots of the usual number of pages that a colour is off: noise
constexpr int failures_allowed = 12; ///< reductions that noise may spoil, one after the other
constexpr int passes_again = 4;
constexpr std::uint64_t most_searches = 3;

/// One search.
class ColourSearch : ColourLooks {
public:
  using ColourLooks::ColourLooks;

  /// What was found until time, noise or the pages ended it. Throws Unknown when that is nothing.
  PageColours run() {
    Pages rest(static_cast<std::size_t>(task_.pages));
    std::iota(rest.begin(), rest.end(), std::int64_t{0});
    shuffle_pages(rest, random_);
    std::string incomplete;
    try {
      set_aside(rest);
      find_groups(rest, groups_to_read * static_cast<std::size_t>(task_.page_sets_above));
      join_twins();
      drop_odd_sizes();
      read_groups();
      find_groups(rest, found_.size() + rest.size());
      join_twins();
      drop_odd_sizes();
      if (dropped_ > 0) incomplete = fmt::format("noise mixed the pages of {} of them", dropped_);
      std::erase_if(rest, [&](std::int64_t page) { return belongs_after_all(page); });
    } catch (const NoSharedSet&) {
      throw;
    } catch (const Unknown& unknown) {
      incomplete = unknown.reason;
      // Few groups that noise ended the search for may be noise themselves.
      if (readings_.empty() && !sampler_.out_of_time()) throw;
      if (readings_.empty()) read_groups();
    }
    if (3 * dropped_ > static_cast<int>(found_.size())) throw Unknown{"noise mixed pages of several colours"};
    if (found_.empty())
      throw Unknown{incomplete.empty() ? "no pages were found that share a set" : incomplete};
    const std::int64_t tried = task_.pages - std::ssize(aside_);
    return {task_.offset, tried, std::ssize(rest), {}, found_, members_, task_.whole, readings_, incomplete};
  }

private:
  /// A few groups tell the ways: their readings come first, while there is time for them.
  void read_groups() {
    PageColours some{task_.offset, task_.pages, 0, {}, found_, members_, task_.whole, {}, {}};
    measure_colour_readings(sampler_, some, task_);
    readings_ = some.readings;
    firm_ = found_.size();
  }

  void find_groups(Pages& rest, std::size_t most) {
    for (int failures = 0; found_.size() < most && overflows(rest);) {
      const auto smallest = reduce(shortest_prefix(rest));
      if (smallest) {
        take(*smallest, rest);
        failures = 0;
        continue;
      }
      if (++failures > failures_allowed) throw Unknown{"too much noise to tell which pages share a set"};
      shuffle_pages(rest, random_);
    }
  }

  Pages shortest_prefix(const Pages& pages) {
    std::size_t fits = fewest - 1, over = pages.size();
    // The first set overflows long before most do: doubling finds it with fewer visits than halving.
    for (std::size_t size = first_prefix; size < pages.size(); size *= 2) {
      if (overflows({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(size)})) {
        over = size;
        break;
      }
      fits = size;
    }
    while (over - fits > 1) {
      const std::size_t middle = (fits + over) / 2;
      (overflows({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(middle)}) ? over : fits) =
          middle;
    }
    return {pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(over)};
  }

  /// Takes pages out, so many at a time, while the rest overflows.
  Pages taken_out(Pages pages, std::size_t chunk) {
    for (std::size_t i = 0; i < pages.size();) {
      const std::size_t end = std::min(i + chunk, pages.size());
      if (auto fewer = without(pages, i, end); overflows(fewer))
        pages = std::move(fewer);
      else
        i = end;
    }
    return pages;
  }

  /// First many pages at a time, then one by one, until none can be taken out. Where noise made it take out a
  /// page too many, the rest no longer overflows: it goes back to the pages before.
  std::optional<Pages> reduce(Pages pages) {
    int failures = 0;
    for (std::size_t chunk = std::max<std::size_t>(1, pages.size() / 20);;) {
      Pages fewer = taken_out(pages, chunk);
      if (!overflows(fewer)) {
        if (++failures > passes_again) return {};
        continue;
      }
      const bool minimal = chunk == 1 && fewer.size() == pages.size();
      pages = std::move(fewer);
      if (minimal) return pages;
      chunk = std::max<std::size_t>(1, chunk / 2);
    }
  }

  /// Takes a colour out of the rest: all pages that in the place of one of `smallest` make it overflow, too.
  void take(const Pages& smallest, Pages& rest) {
    // Now it is known what an overflow costs: a good part of it is the threshold that noise does not reach.
    overflow_ = std::max(overflow_, typical_overflow * leaving(smallest));
    std::erase_if(rest,
                  [&](std::int64_t page) { return std::ranges::find(smallest, page) != smallest.end(); });
    const std::size_t chunk = most_together;
    Pages members = smallest, others;
    for (std::size_t from = 0; from < rest.size(); from += chunk) {
      const std::size_t end = std::min(from + chunk, rest.size());
      sort_out(
          {rest.begin() + static_cast<std::ptrdiff_t>(from), rest.begin() + static_cast<std::ptrdiff_t>(end)},
          smallest, chunk, members, others);
    }
    rest = others;
    found_.push_back(smallest);
    members_.push_back(members);
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
    const auto over = [&](Look look) {
      const double ns = visit_time(tried, Lines::together, look);
      fitting_ = std::min(fitting_, ns);
      return (ns - std::max(fitting_, plain_ + step_seen * step_)) * visits >= overflow_ / 2 * penalty_;
    };
    return over(Look::quick) && over(Look::thorough);
  }

  /// The same without a short measurement. While another program has a line in the set, the group overflows
  /// with any page, and without one of its own: that is no evidence on this page.
  bool belongs_after_all(std::int64_t page, Pages group, int ahead_that_fit = ahead_to_overflow) {
    group.back() = page;
    return overflows(group, ahead_that_fit) && !overflows(without(group, group.size() - 1, group.size()));
  }
  bool belongs_after_all(std::int64_t page) {
    return std::ranges::any_of(found_, [&](const Pages& group) { return belongs_after_all(page, group); });
  }

  /// Pages of a colour found before that noise had kept out of it are no new colour; a group that no longer
  /// overflows is none.
  void join_twins() {
    std::vector<Pages> different, members;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const Pages& group = found_[i];
      if (i < firm_) {
        different.push_back(group);
        members.push_back(members_[i]);
        continue;
      }
      if (!overflows(group)) {
        ++dropped_;
        continue;
      }
      const auto twin = std::ranges::find_if(different, [&](const Pages& other) {
        return belongs_after_all(group.front(), other) || belongs_after_all(other.front(), group);
      });
      if (twin == different.end()) {
        different.push_back(group);
        members.push_back(members_[i]);
      } else {
        Pages& joined = members[static_cast<std::size_t>(twin - different.begin())];
        joined.insert(joined.end(), members_[i].begin(), members_[i].end());
      }
    }
    found_ = different;
    members_ = members;
  }

  /// Pages lie anywhere, so colours have much the same number of them. One with as many as two was two.
  void drop_odd_sizes() {
    if (members_.empty()) return;
    std::vector<double> sizes;
    for (const Pages& members : members_)
      sizes.push_back(static_cast<double>(members.size()));
    const double usual = statistics::median(sizes), off = unlikely * std::sqrt(usual);
    for (std::size_t i = sizes.size(); i-- > firm_;) {
      if (std::abs(sizes[i] - usual) <= off) continue;
      ++dropped_;
      found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(i));
      members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  double fitting_ = std::numeric_limits<double>::infinity(); ///< ns a visit when nothing leaves
  std::vector<Pages> found_, members_;
  std::vector<ColourReading> readings_;
  std::size_t firm_ = 0; ///< groups that have readings
  int dropped_ = 0;      ///< groups that turned out to be none
};

/// Several searches, until one finds something.
PageColours searched(Sampler& sampler, const ColourTask& task) {
  PageColours none{task.offset, task.pages, 0, "page colours were not searched for", {}, {}, false, {}, {}};
  for (std::uint64_t search = 0; search < most_searches; ++search) {
    ColourTask another = task;
    another.seed += search;
    try {
      return ColourSearch(sampler, another).run();
    } catch (const NoSharedSet& unknown) {
      none.unknown = unknown.reason;
      break;
    } catch (const Unknown& unknown) { // a burst of noise may be over
      none.unknown = unknown.reason;
      if (sampler.out_of_time()) break;
    }
  }
  return none;
}

} // namespace

PageColours find_colours(Sampler& sampler, const ColourTask& task) {
  const std::uint64_t place = 0;
  if (sampler.glance(std::span(&place, 1)) < 0)
    return {task.offset, task.pages, 0, "page colours were not searched for", {}, {}, false, {}, {}};
  PageColours found = searched(sampler, task);
  if ((found.unknown.empty() && found.smallest.size() >= enough_groups) || sampler.out_of_time())
    return found;
  ColourTask whole = task;
  whole.whole = true;
  PageColours by_pages = searched(sampler, whole);
  if (by_pages.smallest.size() > found.smallest.size()) return by_pages;
  if (found.smallest.empty()) found.unknown += "; whole pages: " + by_pages.unknown;
  return found;
}

} // namespace recount::caches
