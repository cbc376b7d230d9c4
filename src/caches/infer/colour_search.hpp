// One search for page colours.
#pragma once

#include "caches/infer/colour_members.hpp"
#include "caches/infer/colour_number.hpp"
#include "caches/infer/colour_sets.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace recount::caches {

/// One search.
class ColourSearch : ColourMembers {
public:
  using ColourMembers::ColourMembers;

  /// What was found until time, noise or the pages ended it. Throws Unknown when that is nothing.
  PageColours run() {
    Pages rest(static_cast<std::size_t>(task_.pages));
    std::iota(rest.begin(), rest.end(), std::int64_t{0});
    map_all();
    shuffle_pages(rest, random_);
    sample_.assign(rest.end() - task_.sample, rest.end());
    rest.resize(rest.size() - sample_.size());
    whole_sample_ = sample_;
    std::ranges::sort(whole_sample_);
    std::string incomplete;
    try {
      set_aside(rest);
      find_enough_groups(rest);
      if (dropped_ > most_dropped) incomplete = fmt::format("noise mixed the pages of {} of them", dropped_);
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
    PageColours colours = found_colours();
    colours.pages = task_.pages - std::ssize(aside_);
    colours.left_over = std::ssize(rest) + std::ssize(sample_);
    colours.readings = readings_;
    colours.incomplete = incomplete;
    colours.sample = task_.sample;
    colours.in_sample = in_sample();
    return colours;
  }

private:
  static constexpr double typical_overflow = 0.35; ///< of what a set with one line too many was seen to lose
  static constexpr double half_of_overflow = 0.45,
                          most_overflow = 4; ///< of whole pages, which are an average over sets
  static constexpr std::size_t first_prefix = 24;
  static constexpr std::size_t usual_group = 10; ///< pages, where none is known yet
  static constexpr std::size_t groups_to_compare = 3;
  static constexpr std::size_t groups_to_read =
      6; ///< for each set of the level above that their lines fall into
  static constexpr std::size_t least_groups = 8, more_groups = 4;
  static constexpr double sure_of_number = 0.9995; ///< probability at which no more colours are searched for
  static constexpr double unlikely = 4; ///< roots of the usual number of pages that a colour is off: noise
  static constexpr int failures_allowed = 12; ///< reductions that noise may spoil, one after the other
  static constexpr int passes_again = 4;
  static constexpr int most_dropped = 4; ///< groups whose pages are searched again

  /// Before the first look, so that all looks have the same pages.
  void map_all() {
    const auto last = static_cast<std::uint64_t>((task_.pages - 1) * task_.page);
    static_cast<void>(sampler_.glance(std::span(&last, 1), true));
  }

  /// A few groups tell the ways, and their share of the sample how many there are: their readings come first,
  /// while there is time for them.
  void find_enough_groups(Pages& rest) {
    std::size_t wanted =
        std::max(least_groups, groups_to_read * static_cast<std::size_t>(task_.page_sets_above));
    for (bool all = false; !all; wanted = found_.size() + more_groups) {
      all = find_groups(rest, wanted);
      const int dropped = dropped_;
      join_twins(rest);
      drop_odd_sizes(rest);
      if (dropped_ > dropped && dropped_ <= most_dropped) all = false; // their pages are searched again
      if (readings_.empty()) read_groups();
      if (number_of_colours(std::ssize(found_), task_.sample, in_sample(), task_.mixed()).probability >=
          sure_of_number)
        return;
    }
    std::erase_if(rest, [&](std::int64_t page) { return belongs_to_any(page); });
  }

  [[nodiscard]] std::int64_t in_sample() const {
    return std::accumulate(from_sample_.begin(), from_sample_.end(), std::int64_t{0});
  }

  [[nodiscard]] PageColours found_colours() const {
    PageColours colours;
    colours.offset = task_.offset;
    colours.pages = task_.pages;
    colours.smallest = found_;
    colours.members = members_;
    colours.whole = task_.whole;
    colours.mixed = task_.mixed();
    return colours;
  }

  void read_groups() {
    PageColours some = found_colours();
    measure_colour_readings(sampler_, some, task_, sample_);
    readings_ = some.readings;
    firm_ = found_.size();
  }

  /// Whether no pages are left that overflow a set.
  bool find_groups(Pages& rest, std::size_t most) {
    for (int failures = 0; found_.size() < most;) {
      if (!overflows(rest)) return true;
      const auto smallest = reduce(shortest_prefix(rest));
      if (smallest && usual_size(*smallest)) {
        take(*smallest, rest);
        failures = 0;
        continue;
      }
      if (++failures > failures_allowed) throw Unknown{"too much noise to tell which pages share a set"};
      shuffle_pages(rest, random_);
    }
    return false;
  }

  /// All sets have as many ways: several times as many pages as of other groups overflow something else.
  [[nodiscard]] bool usual_size(const Pages& smallest) const {
    if (found_.size() < groups_to_compare) return true;
    std::vector<double> sizes;
    for (const Pages& group : found_)
      sizes.push_back(static_cast<double>(group.size()));
    return static_cast<double>(smallest.size()) < 2 * statistics::median(sizes);
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
    remember_fitting({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(fits)});
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
    const std::size_t group = found_.empty() ? usual_group : found_.front().size();
    for (std::size_t chunk = std::max<std::size_t>(1, pages.size() / group / 2);;) {
      Pages fewer = taken_out(pages, chunk);
      if (!overflows(fewer)) {
        if (++failures > passes_again) return {};
        continue;
      }
      const bool minimal = chunk == 1 && fewer.size() == pages.size();
      pages = std::move(fewer);
      if (minimal) return !task_.whole || needs_each(pages) ? std::optional(pages) : std::nullopt;
      chunk = std::max<std::size_t>(1, chunk / 2);
    }
  }

  /// Takes a colour out of the rest and out of the sample: all pages that in the place of one of `smallest`
  /// make it overflow, too.
  void take(const Pages& smallest, Pages& rest) {
    // Now it is known what an overflow costs: a good part of it is the threshold that noise does not reach.
    learn_overflow(smallest);
    std::erase_if(rest,
                  [&](std::int64_t page) { return std::ranges::find(smallest, page) != smallest.end(); });
    Pages members = smallest;
    rest = others_of(rest, smallest, members);
    const std::size_t before = members.size();
    sample_ = others_of(sample_, smallest, members);
    found_.push_back(smallest);
    from_sample_.push_back(std::ssize(members) - static_cast<std::ptrdiff_t>(before));
    members_.push_back(members);
  }

  void learn_overflow(const Pages& smallest) {
    const double lost = std::min({leaving(smallest), leaving(smallest), leaving(smallest)});
    overflow_ = task_.whole ? std::clamp(half_of_overflow * lost, least_learned, most_overflow)
                            : std::max(overflow_, typical_overflow * lost);
  }

  bool belongs_to_any(std::int64_t page) {
    return std::ranges::any_of(found_, [&](const Pages& group) { return belongs_after_all(page, group); });
  }

  /// A group that is none: its pages are of colours to be found.
  void drop(std::size_t i, Pages& rest) {
    ++dropped_;
    for (const std::int64_t page : members_[i])
      (std::ranges::binary_search(whole_sample_, page) ? sample_ : rest).push_back(page);
    forget(i);
  }

  void forget(std::size_t i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    found_.erase(found_.begin() + at);
    members_.erase(members_.begin() + at);
    from_sample_.erase(from_sample_.begin() + at);
    joined_ = std::min(joined_, found_.size());
  }

  /// Pages of a colour found before that noise had kept out of it are no new colour; a group that no longer
  /// overflows is none.
  void join_twins(Pages& rest) {
    for (std::size_t i = found_.size(); i-- > joined_;) {
      if (!overflows(found_[i], ahead_to_overflow)) {
        drop(i, rest);
        continue;
      }
      std::size_t twin = 0;
      while (twin < i && !one_colour(found_[i], found_[twin]))
        ++twin;
      if (twin == i) continue;
      members_[twin].insert(members_[twin].end(), members_[i].begin(), members_[i].end());
      from_sample_[twin] += from_sample_[i];
      forget(i);
    }
    joined_ = found_.size();
  }

  /// Pages lie anywhere, so colours have much the same number of them. One with as many as two was two.
  void drop_odd_sizes(Pages& rest) {
    if (members_.empty()) return;
    std::vector<double> sizes;
    for (const Pages& members : members_)
      sizes.push_back(static_cast<double>(members.size()));
    const double usual = statistics::median(sizes), off = unlikely * std::sqrt(usual);
    for (std::size_t i = sizes.size(); i-- > firm_;) {
      if (std::abs(sizes[i] - usual) > off) drop(i, rest);
    }
  }

  Pages sample_, whole_sample_; ///< pages of it that have no known colour; all, sorted
  std::vector<Pages> found_, members_;
  std::vector<std::int64_t> from_sample_; ///< pages that each colour has of the sample
  std::vector<ColourReading> readings_;
  std::size_t firm_ = 0, joined_ = 0; ///< groups that have readings; those that are known to differ
  int dropped_ = 0;                   ///< groups that turned out to be none
};

} // namespace recount::caches
