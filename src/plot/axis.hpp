// Axes: ranges and the places of tics.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace recount::plot {

struct Tic {
  double at = 0;
  std::string text;
};

/// From `low` to `high`, both included in the plot.
struct Axis {
  double low = 0, high = 1;
  bool log2 = false;
  std::vector<Tic> tics;

  /// The position of a value, 0 at `low` and 1 at `high`.
  [[nodiscard]] double place(double value) const;
};

/// Round steps (1, 2 or 5 times a power of ten), about `wanted` of them, from 0 or below `low` to `high`.
[[nodiscard]] Axis linear_axis(double low, double high, int wanted);

/// Logarithmic, with tics at powers of ten, and at 2 and 5 times them where they are few (low > 0).
[[nodiscard]] Axis decades_axis(double low, double high);

/// From the least to the largest of the values with a margin, logarithmic where they differ by more than a
/// factor of 3; tics at the values, as long as their texts stay `gap` apart on an axis of `length`.
[[nodiscard]] Axis settings_axis(std::vector<double> values, double length, double gap,
                                 const std::function<double(const std::string&)>& wide);

/// Powers of two around low to high (both > 0), with a tic at every 2nd, 3rd, ... power so that the texts of
/// neighbours stay `gap` apart on an axis of `length`; `wide` measures a text, `name` writes a value.
[[nodiscard]] Axis log2_axis(double low, double high, double length, double gap,
                             const std::function<std::string(double)>& name,
                             const std::function<double(const std::string&)>& wide);

} // namespace recount::plot
