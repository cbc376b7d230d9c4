// Large values in thousands, millions, so that the numbers at an axis stay short. Pure.
#pragma once

#include <string>

namespace recount::plot {

struct Magnitude {
  double factor = 1;
  std::string word; ///< "million"; empty: as they are
};

[[nodiscard]] inline Magnitude magnitude_of(double most) {
  if (most >= 2e9) return {1e9, "billion"};
  if (most >= 2e6) return {1e6, "million"};
  if (most >= 2e3) return {1e3, "thousand"};
  return {};
}

} // namespace recount::plot
