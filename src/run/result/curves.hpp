// From observations to curves: repetitions of a point become a summary, points of one series a curve.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/result/results_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::result {

/// What an observation contributes to a curve; nothing when it was not counted.
using Measure = std::function<std::optional<double>(const Observation&)>;

/// The value itself.
[[nodiscard]] std::optional<double> value(const Observation& o);
/// Value divided by the element accesses of the region; nothing when either is missing or accesses are 0.
[[nodiscard]] std::optional<double> per_access(const Observation& o);
/// The same for "seconds", in nanoseconds.
[[nodiscard]] std::optional<double> ns_per_access(const Observation& o);

/// The repetitions at one x. Without a summary nothing was counted here.
struct Point {
  double x = 0;
  std::optional<statistics::Summary> y;
  std::size_t flagged = 0;  ///< disturbed repetitions (still part of the summary)
  double min_running = 1.0; ///< smallest share of time that a counter ran; below 1: multiplexed
};

/// One series: everything but x and the repetition is the same.
struct Curve {
  std::string machine; ///< "CPU on HOST", from the run header
  std::string kernel;
  Witness witness;
  std::string metric;
  Params params;                      ///< the point without x
  std::vector<Point> points;          ///< by ascending x
  std::string reason;                 ///< first reason for a value that is missing; empty: none is
  [[nodiscard]] bool counted() const; ///< at least one point has a summary
};

/// Groups the observations that `wanted` accepts and that have a number as parameter `x`. Curves come in
/// the order of (machine, kernel, metric, witness, params), sizes by number.
[[nodiscard]] std::vector<Curve> curves(const Results& results, const std::string& x,
                                        const std::function<bool(const Observation&)>& wanted,
                                        const Measure& measure);

/// Names of the parameters whose values differ between the curves, in alphabetical order; not how often the
/// kernel passed over its data ("rounds", "passes") where the others tell the curves apart.
[[nodiscard]] std::vector<std::string> varying(const std::vector<Curve>& curves);

} // namespace recount::result
