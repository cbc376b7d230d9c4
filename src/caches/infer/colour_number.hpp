// How many page colours a level has, from the share of a random sample of pages that some of them have. Pure.
#pragma once

#include <cstdint>

namespace recount::caches {

struct ColourNumber {
  std::int64_t colours = 0;               ///< the most probable number; 0: nothing was sampled
  double probability = 0;                 ///< of it
  std::int64_t least = 0, most = 0;       ///< the number lies between these with a probability of 0.99
  [[nodiscard]] double tolerance() const; ///< of the number, so that the interval lies within
};

/// `groups` colours are known, and of `sample` pages that took no part in finding them, `in_sample` have one
/// of these. Pages lie anywhere, so each colour has the same share of them, less the pages that noise
/// hides, and those that it takes for one of the known. Sets of real caches are a power of two, sometimes
/// times 3 or 5. `of_address_bits`: exclusive ors of address bits choose the set, so it can only be a power
/// of two.
[[nodiscard]] ColourNumber number_of_colours(std::int64_t groups, std::int64_t sample, std::int64_t in_sample,
                                             bool of_address_bits = false);

} // namespace recount::caches
