#include "caches/infer/cached_sampler.hpp"
#include "caches/infer/colours.hpp"

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

constexpr std::int64_t least_sample = 768; ///< pages

ColourTask task_of(const Sampler& sampler, const PagedTask& level) {
  ColourTask task;
  task.first_hit = level.first_hit;
  task.step = level.hit - level.first_hit;
  // Neighbours can push what leaves this level out of the next one, too; what is asked here is only
  // whether anything leaves.
  task.penalty = std::min(level.next_hit - level.hit, 6 * level.hit);
  task.line = level.line;
  task.page = sampler.abilities().page;
  task.capacity = level.around / task.page;
  task.sample = std::max(least_sample, 4 * task.capacity);
  task.pages = 3 * task.capacity + task.sample;
  task.offset = 13 * level.line;
  task.ways_above = level.ways_above;
  task.lines_above = level.capacity_above / level.line;
  task.page_sets_above = level.page_sets_above;
  task.seed = 1 + 10 * sampler.searches();
  return task;
}

/// Colours that were found have more pages than the others: these overflow first. Pages that are not seen to
/// overflow count for no colour.
constexpr double sampling_bias = 0.1;

/// Sets of real caches are a power of two times 1, 3 or 5.
bool usual_number(double colours) {
  auto odd = static_cast<std::int64_t>(colours);
  while (odd > 0 && odd % 2 == 0)
    odd /= 2;
  return odd <= 5;
}

} // namespace

double tolerance_of_colours(bool complete, double colours, double pages) {
  if (complete && usual_number(colours)) return 0;
  return sampling_bias + (complete ? 1.5 / colours : 4 / std::sqrt(pages));
}

PageColours colours_of_level(Sampler& sampler, const PagedTask& level) {
  if (auto recorded = sampler.colours()) {
    if (!recorded->unknown.empty()) throw Unknown{recorded->unknown};
    if (recorded->members.empty()) recorded->members = recorded->smallest; // a record of version 0.1.0
    return *recorded;
  }
  const PageColours found = find_colours(sampler, task_of(sampler, level));
  sampler.keep(found);
  if (!found.unknown.empty()) throw Unknown{found.unknown};
  return found;
}

} // namespace recount::caches
