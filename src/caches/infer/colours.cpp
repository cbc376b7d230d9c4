#include "caches/infer/colours.hpp"

#include "base/random.hpp"
#include "caches/infer/cached_sampler.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace recount::caches {

namespace {

using Pages = std::vector<std::int64_t>;

constexpr double least_overflow = 1.2;    ///< visits of a pass that leave; less is noise
constexpr double typical_overflow = 0.35; ///< of what a set with one line too many was seen to lose
constexpr double unlikely = 4;            ///< roots of the usual number of pages that a colour is off: noise
constexpr int ahead_to_overflow = 3;      ///< looks that see a set overflow, less those that do not: it does
constexpr int ahead_to_fit = 2;           ///< the other way round
constexpr int most_looks = 15;
constexpr int failures_allowed = 12; ///< reductions that noise may spoil, in one search
constexpr std::uint64_t most_searches = 3;

void shuffle_pages(Pages& pages, std::uint64_t& random) {
  for (std::size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1], pages[base::random_below(random, i)]);
}

Pages without(Pages pages, std::size_t from, std::size_t end) {
  pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(from),
              pages.begin() + static_cast<std::ptrdiff_t>(end));
  return pages;
}

/// One search. Throws Unknown when noise spoils it, or its time is over.
class ColourSearch {
public:
  ColourSearch(Sampler& sampler, const ColourTask& task)
      : sampler_(sampler), task_(task), random_(task.seed) {}

  PageColours run() {
    Pages rest(static_cast<std::size_t>(task_.pages));
    std::iota(rest.begin(), rest.end(), std::int64_t{0});
    shuffle_pages(rest, random_);
    for (int failures = 0; overflows(rest);) {
      const auto smallest = reduce(shortest_prefix(rest));
      if (smallest) {
        take(*smallest, rest);
        continue;
      }
      if (++failures > failures_allowed) throw Unknown{"too much noise to tell which pages share a set"};
      shuffle_pages(rest, random_);
    }
    if (found_.empty()) throw Unknown{"no pages were found that share a set"};
    join_twins();
    check_sizes();
    std::erase_if(rest, [&](std::int64_t page) { return belongs_after_all(page); });
    return {task_.offset, task_.pages, std::ssize(rest), {}, found_};
  }

private:
  [[nodiscard]] std::size_t fewest() const { return static_cast<std::size_t>(task_.ways_above) + 1; }

  enum class Lines { together, spread };
  enum class Look { quick, thorough };

  [[nodiscard]] double visit_time(const Pages& pages, Lines lines, Look look) {
    const auto in_a_page = static_cast<std::uint64_t>(task_.page / task_.line);
    std::vector<std::uint64_t> places;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const std::uint64_t in_page = lines == Lines::spread
                                        ? i % in_a_page * static_cast<std::uint64_t>(task_.line) + 8
                                        : static_cast<std::uint64_t>(task_.offset);
      places.push_back(static_cast<std::uint64_t>(pages[i] * task_.page) + in_page);
    }
    return sampler_.glance(places, look == Look::quick);
  }

  /// Visits of a pass that leave the level. The same pages in the same order with their lines spread over the
  /// first level's sets take what the pages cost.
  double leaving(Pages pages) {
    shuffle_pages(pages, random_);
    const double together = visit_time(pages, Lines::together, Look::thorough);
    if (std::ssize(pages) <= task_.lines_above / 2) plain_ = visit_time(pages, Lines::spread, Look::thorough);
    return (together - plain_ - task_.step) * static_cast<double>(pages.size()) / task_.penalty;
  }

  bool overflows(const Pages& pages, int ahead_that_fit = ahead_to_fit) {
    if (sampler_.out_of_time()) throw Unknown{gave_up};
    if (pages.size() < fewest()) return false;
    int ahead = 0;
    for (int look = 0; look < most_looks && ahead < ahead_to_overflow && ahead > -ahead_that_fit; ++look)
      ahead += leaving(pages) >= overflow_ ? 1 : -1;
    return ahead > 0;
  }

  Pages shortest_prefix(const Pages& pages) {
    std::size_t fits = fewest() - 1, over = pages.size();
    while (over - fits > 1) {
      const std::size_t middle = (fits + over) / 2;
      (overflows({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(middle)}) ? over : fits) =
          middle;
    }
    return {pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(over)};
  }

  /// Takes pages out while the rest overflows: first many at a time, then one by one.
  std::optional<Pages> reduce(Pages pages) {
    for (std::size_t chunk = std::max<std::size_t>(1, pages.size() / 20);;
         chunk = std::max<std::size_t>(1, chunk / 2)) {
      for (std::size_t i = 0; i < pages.size();) {
        const std::size_t end = std::min(i + chunk, pages.size());
        if (auto fewer = without(pages, i, end); overflows(fewer))
          pages = std::move(fewer);
        else
          i = end;
      }
      if (chunk == 1) break;
    }
    // What noise left in or took out shows now: the set must overflow, and no longer without any one page.
    if (!overflows(pages)) return {};
    for (std::size_t i = 0; i < pages.size(); ++i)
      if (overflows(without(pages, i, i + 1))) return {};
    return pages;
  }

  /// Takes a colour out of the rest: all pages that in the place of one of `smallest` make it overflow, too.
  void take(const Pages& smallest, Pages& rest) {
    // Now it is known what an overflow costs: a good part of it is the threshold that noise does not reach.
    overflow_ = std::max(overflow_, typical_overflow * leaving(smallest));
    // What a visit takes when nothing leaves: the least of all groups, since others may use a set as well.
    const Pages fitting = without(smallest, smallest.size() - 1, smallest.size());
    fitting_ = std::min(fitting_, visit_time(fitting, Lines::together, Look::thorough));
    const std::size_t before = rest.size();
    std::erase_if(rest, [&](std::int64_t page) {
      return std::ranges::find(smallest, page) != smallest.end() || belongs(page, smallest);
    });
    found_.push_back(smallest);
    sizes_.push_back(static_cast<double>(before - rest.size()));
  }

  /// Whether the group overflows with this page in the place of one of its own. A quick look sorts most out.
  bool belongs(std::int64_t page, const Pages& group) {
    Pages tried = group;
    tried.back() = page;
    const double longer = visit_time(tried, Lines::together, Look::quick) - fitting_;
    return longer * static_cast<double>(group.size()) >= overflow_ / 2 * task_.penalty &&
           belongs_after_all(page, group, ahead_to_fit);
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

  /// Pages of a colour found before that noise had kept out of it are no new colour.
  void join_twins() {
    std::vector<Pages> different;
    std::vector<double> sizes;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const Pages& group = found_[i];
      if (!overflows(group)) throw Unknown{"pages that shared a set no longer did when measured again"};
      const auto twin = std::ranges::find_if(different, [&](const Pages& other) {
        return belongs_after_all(group.front(), other) && belongs_after_all(other.front(), group);
      });
      if (twin == different.end()) {
        different.push_back(group);
        sizes.push_back(sizes_[i]);
      } else {
        sizes[static_cast<std::size_t>(twin - different.begin())] += sizes_[i];
      }
    }
    found_ = different;
    sizes_ = sizes;
  }

  /// Pages lie anywhere, so colours have much the same number of them. One with as many as two was two.
  void check_sizes() const {
    const double usual = statistics::median(sizes_), off = unlikely * std::sqrt(usual);
    for (const double size : sizes_)
      if (std::abs(size - usual) > off) throw Unknown{"noise mixed pages of several colours"};
  }

  Sampler& sampler_;
  const ColourTask& task_;
  std::uint64_t random_;
  double overflow_ = least_overflow; ///< visits of a pass that leave
  double plain_ = 0;                 ///< of the largest pages whose lines the first level holds when spread
  double fitting_ = std::numeric_limits<double>::infinity(); ///< ns a visit when nothing leaves
  std::vector<Pages> found_;
  std::vector<double> sizes_; ///< of the colours found: all their pages
};

} // namespace

PageColours find_colours(Sampler& sampler, const ColourTask& task) {
  PageColours none{task.offset, task.pages, 0, "page colours were not searched for", {}};
  const std::uint64_t place = 0;
  if (sampler.glance(std::span(&place, 1)) < 0) return none;
  for (std::uint64_t search = 0; search < most_searches; ++search) {
    ColourTask another = task;
    another.seed += search;
    try {
      return ColourSearch(sampler, another).run();
    } catch (const Unknown& unknown) { // a burst of noise may be over
      none.unknown = unknown.reason;
      if (sampler.out_of_time()) break;
    }
  }
  return none;
}

} // namespace recount::caches
