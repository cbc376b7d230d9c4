#include "caches/infer/cached_sampler.hpp"
#include "caches/infer/colour_number.hpp"
#include "caches/infer/colours.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace recount::caches {

namespace {

constexpr double least_number_probability =
    0.99; ///< of a number of colours that is stated without an interval
constexpr double least_of_estimate =
    0.34; ///< of an estimated number: the next usual ones are 3/4 and 4/3 of it
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

CountedColours count_colours(const PageColours& found, std::int64_t ways) {
  double members = 0;
  for (const auto& pages : found.members)
    members += static_cast<double>(pages.size());
  const auto groups = static_cast<double>(found.members.size()), pages = static_cast<double>(found.pages);
  // Pages without a colour that are as many as half of a colour has may be a colour that was not found.
  const bool all_pages = pages < members * (1 + 0.5 / groups);
  const bool complete = found.incomplete.empty() && 2 * found.left_over <= ways && all_pages;
  const bool usual = found.mixed ? std::has_single_bit(found.members.size()) : usual_number(groups);
  if (complete && (usual || found.sample == 0))
    return {groups, 1, tolerance_of_colours(true, groups, members), true, true, false};
  const ColourNumber number =
      number_of_colours(std::ssize(found.members), found.sample, found.in_sample, found.mixed);
  // Pages lie anywhere: the share of all pages that a colour has is a share of a sample.
  if (number.colours == 0)
    return {std::max(groups, pages * groups / members),
            0,
            tolerance_of_colours(false, groups, members),
            false,
            false,
            false};
  const bool stated = number.probability >= least_number_probability;
  return {static_cast<double>(number.colours),
          number.probability,
          stated ? 0 : std::max(number.tolerance(), least_of_estimate),
          false,
          stated,
          true};
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
