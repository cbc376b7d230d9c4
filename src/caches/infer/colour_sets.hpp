// Ways and line of a physically indexed level from lines in pages of one colour.
#pragma once

#include "caches/infer/cached_sampler.hpp"
#include "caches/infer/colours.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// What the lines of one colour showed.
struct ColourTrial {
  std::int64_t page = 0;            ///< of the colour, to name it
  std::optional<std::int64_t> ways; ///< nothing: undecided
  std::optional<std::int64_t> line; ///< bytes
};

struct ColourSets {
  std::vector<ColourTrial> trials;
  std::optional<std::int64_t> ways, line;   ///< what most colours show
  std::size_t with_ways = 0, with_line = 0; ///< colours that show these values
  double probability = 0;                   ///< of the ways, given the readings of all colours
  std::string ways_unknown, line_unknown;
};

/// Adds readings to colours that were found: 1, 2 ... lines of one colour together with lines of other
/// colours, so many that the level above holds none of them, compared with the same pages and their lines in
/// different sets; then twice as many lines as a set holds, every second one shifted. Ends when the sampler's
/// time is over. `spare`: pages that have none of these colours, for when the other colours have too few
/// lines.
void measure_colour_readings(Sampler& sampler, PageColours& colours, const ColourTask& task,
                             const std::vector<std::int64_t>& spare = {});

/// What the readings of the colours show. Pure.
[[nodiscard]] ColourSets decide_colour_sets(const PageColours& colours);

} // namespace recount::caches
