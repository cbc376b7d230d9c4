#include "caches/infer/colours.hpp"

#include "caches/infer/cached_sampler.hpp"
#include "caches/infer/colour_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace recount::caches {

namespace {

constexpr std::size_t enough_groups = 3; ///< fewer may be noise
constexpr std::uint64_t most_searches = 3;
constexpr int looks_at_lines = 5;
constexpr double some_sets = 0.35; ///< of the penalty, that pages show of which a part overflows
constexpr double same_rise = 0.6;  ///< of the time that all lines of these pages show

PageColours not_searched(const ColourTask& task) {
  PageColours none;
  none.offset = task.offset;
  none.pages = task.pages;
  none.unknown = "page colours were not searched for";
  return none;
}

/// Several searches, until one finds something.
PageColours searched(Sampler& sampler, const ColourTask& task) {
  PageColours none = not_searched(task);
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

ColourTask with_fewest_lines(Sampler& sampler, ColourTask task) {
  const std::int64_t few = 2 * task.ways_above + 2, all_lines = task.page / task.line;
  std::uint64_t random = task.seed;
  const auto choose = [&](std::int64_t lines, std::int64_t apart) {
    task.whole = true;
    task.lines = lines;
    task.apart = apart;
  };
  const auto time_of_pages = [&](std::int64_t count, std::int64_t shift = 0, std::int64_t wrap = 1) {
    Pages pages(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), std::int64_t{0});
    double least = std::numeric_limits<double>::infinity();
    for (int look = 0; look < looks_at_lines; ++look)
      least = std::min(least, sampler.glance(places_of_whole_pages(pages, task, random, shift, wrap)));
    return least;
  };
  // The fewer lines of a page are visited, the more translation adds to each. The same pages with their lines
  // in several times as many sets take that, too.
  const auto rise_at = [&](std::int64_t many) {
    const std::int64_t wrap = std::min(all_lines / task.lines, many / few);
    return time_of_pages(many) - (wrap < 2 ? time_of_pages(few) : time_of_pages(many, shift_of(task), wrap));
  };
  choose(all_lines, task.line);
  // So many pages that some sets overflow and others do not: with half as many, nearly none would.
  std::int64_t many = std::max(2 * few, task.capacity / 2);
  double of_all = rise_at(many);
  while (of_all < some_sets * task.penalty && many < task.pages / 2 && !sampler.out_of_time()) {
    many += std::max<std::int64_t>(1, task.capacity / 8);
    of_all = rise_at(many);
  }
  for (std::int64_t lines = 2; lines < all_lines && !sampler.out_of_time(); lines *= 2)
    for (const std::int64_t apart : {task.page / lines, task.line}) {
      choose(lines, apart);
      if (rise_at(many) > same_rise * of_all) return task;
    }
  choose(all_lines, task.line);
  return task;
}

PageColours find_colours(Sampler& sampler, const ColourTask& task) {
  const std::uint64_t place = 0;
  if (sampler.glance(std::span(&place, 1)) < 0) return not_searched(task);
  PageColours found = searched(sampler, task);
  if ((found.unknown.empty() && found.smallest.size() >= enough_groups) || sampler.out_of_time())
    return found;
  PageColours by_pages = searched(sampler, with_fewest_lines(sampler, task));
  if (by_pages.smallest.size() > found.smallest.size()) return by_pages;
  if (found.smallest.empty()) found.unknown += "; whole pages: " + by_pages.unknown;
  return found;
}

} // namespace recount::caches
