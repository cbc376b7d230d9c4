// Statistics over repetitions, per row.
#pragma once

#include "stat/run.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::stat {

/// A row over all repetitions. Of ratios, too, the mean is that of the repetitions' ratios.
struct Summary {
  std::vector<double> values;      ///< of the repetitions that have one
  std::optional<double> mean;      ///< none: no repetition has a value
  std::optional<double> deviation; ///< standard deviation of a sample; none with fewer than two values
  double share = 1;                ///< scheduled share of the time: minimum over repetitions
  std::size_t missing = 0;         ///< repetitions without value
  std::string reason;              ///< the first reason why
  std::vector<std::string> flags;  ///< each once
};

/// Over the same row of each slice.
[[nodiscard]] Summary summarise(std::span<const Slice> slices, std::size_t row);
/// Over given values.
[[nodiscard]] Summary summarise(std::vector<double> values);

} // namespace recount::stat
