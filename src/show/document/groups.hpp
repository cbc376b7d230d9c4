// Observations gathered by point, witness and metric, and their values for tables.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/result/results_file.hpp"
#include "show/document/document.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::sweep {

/// What JSON states of a summary.
inline constexpr std::pair<const char*, double statistics::Summary::*> summary_members[] = {
    {"median", &statistics::Summary::median}, {"low", &statistics::Summary::low},
    {"high", &statistics::Summary::high},     {"min", &statistics::Summary::min},
    {"max", &statistics::Summary::max},       {"mean", &statistics::Summary::mean},
    {"p10", &statistics::Summary::p10},       {"p90", &statistics::Summary::p90}};

/// The repetitions of one metric by one witness at one point.
struct SweepGroup {
  result::Params params;
  Witness witness;
  std::string metric, unit = {};
  std::vector<double> values;
  std::vector<int> repetitions;               ///< of the values, from 0
  std::vector<double> cpu_seconds;            ///< beside "seconds", as Observation has them
  std::optional<statistics::Summary> summary; ///< none: nothing was counted, and `reason` says why
  Shared<Reason> reason;
  std::size_t missing = 0; ///< repetitions without a value
  std::size_t flagged = 0; ///< disturbed repetitions
  double error = 0;        ///< the largest sampling error of a simulation
  std::string difference;  ///< why PAPI's value is or may be another one; empty: not known
  std::optional<std::int64_t> accesses;
  std::optional<double> of_first; ///< the statistic divided by that of the first point, see least()
  /// The statistic divided by the accesses; none where either is not known.
  [[nodiscard]] std::optional<double> per_access() const;
};

/// By point, metric and witness, points in their natural order.
[[nodiscard]] std::vector<SweepGroup> sweep_groups(const result::Results& results);

/// Of each metric and witness the `count` points where it is least, least first.
[[nodiscard]] std::vector<SweepGroup> least(std::vector<SweepGroup> groups, std::size_t count,
                                            const result::Params& first);

/// Pairs of points, one after the other, that are next to each other along a parameter and whose times by the
/// clock are not distinguishable: their medians differ by more than 2 %, and their intervals overlap.
[[nodiscard]] std::vector<result::Params> undecided_points(const std::vector<SweepGroup>& groups);

/// "2 outliers, further than 14.826 median absolute deviations from their median: size=4096 stride=64,
/// seconds by clock, repetition 2 ...; ": the first three by name. Empty: there are none. Modelled values
/// have none.
[[nodiscard]] std::string outliers_text(const std::vector<SweepGroup>& groups);

/// The values for CSV: each metric with all parameters, its value per access, the CPU time beside a time and
/// the ratio to the first point, or the reason why there is none.
[[nodiscard]] std::vector<show::Datum> sweep_data(const std::vector<SweepGroup>& groups);

/// The parameters whose value is not the same in all groups.
[[nodiscard]] std::vector<std::string> varying(const std::vector<SweepGroup>& groups);

} // namespace recount::sweep
