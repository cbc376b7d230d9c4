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
/// Of the time that all lines of pages show, a little beyond the capacity: lines that share a part of their
/// sets only show less of it. Other users of the next level make that time longer than the penalty.
constexpr double same_rise = 0.5, most_of_penalty = 1.5;

/// Several searches, until one finds something.
PageColours searched(Sampler& sampler, const ColourTask& task) {
  PageColours none{task.offset, task.pages, 0, "page colours were not searched for", {}, {}, false, {},
                   {},          0,          0};
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
  const std::int64_t many = std::max(2 * few, std::min(task.pages, task.capacity * 5 / 4));
  std::uint64_t random = task.seed;
  const auto rise_with = [&](std::int64_t lines, std::int64_t apart) {
    task.whole = true;
    task.lines = lines;
    task.apart = apart;
    const auto time_of_pages = [&](std::int64_t count) {
      Pages pages(static_cast<std::size_t>(count));
      std::iota(pages.begin(), pages.end(), std::int64_t{0});
      double least = std::numeric_limits<double>::infinity();
      for (int look = 0; look < looks_at_lines; ++look)
        least = std::min(least, sampler.glance(places_of_whole_pages(pages, task, random)));
      return least;
    };
    return time_of_pages(many) - time_of_pages(few);
  };
  const double of_all = std::min(rise_with(all_lines, task.line), most_of_penalty * task.penalty);
  for (std::int64_t lines = 2; lines < all_lines && !sampler.out_of_time(); lines *= 2)
    for (const std::int64_t apart : {task.page / lines, task.line})
      if (rise_with(lines, apart) > same_rise * of_all) return task;
  task.lines = all_lines;
  task.apart = task.line;
  return task;
}

PageColours find_colours(Sampler& sampler, const ColourTask& task) {
  const std::uint64_t place = 0;
  if (sampler.glance(std::span(&place, 1)) < 0)
    return {task.offset, task.pages, 0, "page colours were not searched for", {}, {}, false, {}, {}, 0, 0};
  PageColours found = searched(sampler, task);
  if ((found.unknown.empty() && found.smallest.size() >= enough_groups) || sampler.out_of_time())
    return found;
  PageColours by_pages = searched(sampler, with_fewest_lines(sampler, task));
  if (by_pages.smallest.size() > found.smallest.size()) return by_pages;
  if (found.smallest.empty()) found.unknown += "; whole pages: " + by_pages.unknown;
  return found;
}

} // namespace recount::caches
