// What page colours tell of a level: ways, line and number of sets. Pure.
#pragma once

#include "caches/infer/sampler.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

inline constexpr std::size_t least_colours = 3; ///< that must agree; fewer may be noise
inline constexpr std::int64_t surely_fit = 4;   ///< lines of one colour: no second level has fewer ways

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

[[nodiscard]] ColourSets decide_colour_sets(const PageColours& colours);

struct ColourNumber {
  std::int64_t colours = 0;               ///< the most probable number; 0: nothing was sampled
  double probability = 0;                 ///< of it
  std::int64_t least = 0, most = 0;       ///< the number lies between these with a probability of 0.99
  [[nodiscard]] double tolerance() const; ///< of the number, so that the interval lies within
};

/// `groups` colours are known, and of `sample` pages that took no part in finding them, `in_sample` have one
/// of these. Pages lie anywhere, so each colour has the same share of them, less the pages that noise
/// hides, and those that it takes for one of the known. Sets of real caches are a power of two, sometimes
/// times 3 or 5; where exclusive ors of address bits choose them, a power of two.
[[nodiscard]] ColourNumber number_of_colours(std::int64_t groups, std::int64_t sample, std::int64_t in_sample,
                                             bool of_address_bits = false);

/// How many colours a level has.
struct CountedColours {
  double colours = 0, probability = 0, tolerance = 0;
  bool complete = false; ///< every page was tried
  bool stated = false;   ///< no estimate
  bool sampled = false;  ///< from the share of a sample
};
[[nodiscard]] CountedColours count_colours(const PageColours& found, std::int64_t ways);

} // namespace recount::caches
