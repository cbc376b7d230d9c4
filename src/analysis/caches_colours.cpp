#include "analysis/caches_colours.hpp"

#include "model/random.hpp"

#include <algorithm>
#include <numeric>

namespace recount::analysis {

namespace {

using Pages = std::vector<std::int64_t>;

constexpr double overflowing = 1.2; ///< visits of a pass that leave; less is noise
constexpr int looks_that_agree = 3; ///< looks that must all agree that a set overflows
constexpr int failures_allowed = 6; ///< reductions that noise may spoil

void shuffle_pages(Pages& pages, std::uint64_t& random) {
  for (std::size_t i = pages.size(); i > 1; --i)
    std::swap(pages[i - 1], pages[model::random_below(random, i)]);
}

class ColourSearch {
public:
  ColourSearch(Sampler& sampler, const ColourTask& task)
      : sampler_(sampler), task_(task), random_(task.seed) {}

  std::optional<PageColours> run() {
    PageColours found{task_.offset, task_.pages, 0, {}};
    Pages rest(static_cast<std::size_t>(task_.pages));
    std::iota(rest.begin(), rest.end(), std::int64_t{0});
    shuffle_pages(rest, random_);
    for (int failures = 0; overflows(rest);) {
      const auto smallest = reduce(shortest_prefix(rest));
      if (!smallest) {
        if (++failures > failures_allowed) return {};
        shuffle_pages(rest, random_);
        continue;
      }
      rest = others(rest, *smallest);
      found.smallest.push_back(*smallest);
    }
    std::erase_if(rest, [&](std::int64_t page) { return belongs_after_all(found, page); });
    found.left_over = std::ssize(rest);
    if (found.smallest.empty()) return {};
    return found;
  }

private:
  [[nodiscard]] std::size_t fewest() const { return static_cast<std::size_t>(task_.ways_above) + 1; }

  [[nodiscard]] double time_of(const Pages& pages, bool spread) {
    std::vector<std::uint64_t> places;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const auto lines = static_cast<std::uint64_t>(task_.page / task_.line);
      const std::uint64_t in_page = spread ? i % lines * static_cast<std::uint64_t>(task_.line) + 8
                                           : static_cast<std::uint64_t>(task_.offset);
      places.push_back(static_cast<std::uint64_t>(pages[i] * task_.page) + in_page);
    }
    return sampler_.glance(places);
  }

  /// Visits of a pass that leave the level. The same pages in the same order with their lines spread over the
  /// first level's sets take what the pages cost.
  double leaving(Pages pages) {
    shuffle_pages(pages, random_);
    const double together = time_of(pages, false);
    const double in_vain = std::ssize(pages) <= task_.lines_above / 2 ? time_of(pages, true) : plain_;
    if (std::ssize(pages) <= task_.lines_above / 2) plain_ = in_vain;
    return (together - in_vain - task_.step) * static_cast<double>(pages.size()) / task_.penalty;
  }

  bool overflows(const Pages& pages) {
    if (pages.size() < fewest()) return false;
    for (int look = 0; look < looks_that_agree; ++look)
      if (leaving(pages) < overflowing) return false;
    return true;
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
        Pages without = pages;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i),
                      without.begin() + static_cast<std::ptrdiff_t>(end));
        if (overflows(without))
          pages = without;
        else
          i = end;
      }
      if (chunk == 1) break;
    }
    // What noise left in or took out shows now: the set must overflow, and no longer without any one page.
    if (!overflows(pages)) return {};
    for (std::size_t i = 0; i < pages.size(); ++i)
      if (overflows(without(pages, i))) return {};
    return pages;
  }

  [[nodiscard]] static Pages without(Pages pages, std::size_t i) {
    pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(i));
    return pages;
  }

  /// The pages of other colours: those that in the place of one of the set do not make it overflow.
  Pages others(const Pages& pages, const Pages& smallest) {
    Pages kept;
    for (const std::int64_t page : pages) {
      if (std::ranges::find(smallest, page) != smallest.end()) continue;
      Pages tried = smallest;
      tried.back() = page;
      if (!overflows(tried)) kept.push_back(page);
    }
    return kept;
  }

  /// A second try for a page that noise may have kept out of its colour: most looks decide.
  bool belongs_after_all(const PageColours& found, std::int64_t page) {
    return std::ranges::any_of(found.smallest, [&](Pages tried) {
      tried.back() = page;
      int over = 0;
      for (int look = 0; look < 2 * looks_that_agree - 1; ++look)
        over += leaving(tried) >= overflowing ? 1 : 0;
      return over >= looks_that_agree;
    });
  }

  Sampler& sampler_;
  const ColourTask& task_;
  std::uint64_t random_;
  double plain_ = 0; ///< of the largest pages whose lines the first level holds when spread
};

} // namespace

std::optional<PageColours> find_colours(Sampler& sampler, const ColourTask& task) {
  const std::uint64_t place = 0;
  if (sampler.glance(std::span(&place, 1)) < 0) return {};
  return ColourSearch(sampler, task).run();
}

} // namespace recount::analysis
