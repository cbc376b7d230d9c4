// Cache properties from the curves of a grid of power-of-two sizes and strides, and the rows of that grid.
#pragma once

#include "result/results_file.hpp"
#include "statistics/statistics.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::caches {

/// One (size, stride) of a grid, per access: counts are medians over its repetitions, times `times`.
struct GridRow {
  std::string kernel; ///< "stride", "chase"
  std::int64_t size = 0, stride = 0;
  Witness counted_by;                             ///< witness of the misses; empty: none
  std::vector<std::optional<double>> misses = {}; ///< of L1, L2 ...
  std::optional<double> ns = {}, cycles = {};     ///< cycles: PAPI_TOT_CYC
  bool disturbed = false;                         ///< every repetition of the time was
  statistics::Statistic times = statistics::Statistic::minimum;
};

/// The rows of each run: every size and stride of its kernels stride and chase, by kernel, size and stride;
/// what an inference visited (other strides than powers of two, other orders) is not part of it. The times of
/// an inference are minima of what was undisturbed, since disturbances only add time; those of a sweep are
/// what its tables show.
[[nodiscard]] std::vector<std::vector<GridRow>> grid_rows(const result::Results& results,
                                                          std::span<const result::Run> runs);

/// A value between what was tried: `value` or more, less than `below` (0: no bound was seen).
struct ClassicValue {
  std::optional<std::int64_t> value;
  std::int64_t below = 0;
  std::string unknown; ///< why there is no value
};

/// The properties of one level according to its curves.
struct ClassicReading {
  std::string level;              ///< "L1d"
  std::string kernel;             ///< "stride", "chase"
  bool misses = false;            ///< the curves are misses, not times
  bool modelled = false;          ///< the misses are
  std::string curves;             ///< "average misses (PAPI_L1_DCM, model:i7-9700) of the kernel stride"
  ClassicValue capacity, line;    ///< bytes; the line is exact where it is a power of two
  ClassicValue ways;              ///< lines
  std::optional<double> penalty;  ///< ns: the difference between the plateaus, of dependent loads only
  std::vector<std::string> words; ///< the argument, drawn from the rows
};

/// A reading for each level whose misses were counted (or modelled), and one by time for L1 by each kernel
/// that was timed. Pure; never throws for want of rows.
[[nodiscard]] std::vector<ClassicReading> classic_readings(const std::vector<GridRow>& rows);

/// "8 to 15", "unknown".
[[nodiscard]] std::string classic_ways_text(const ClassicReading& reading);
/// "capacity between 32 and 64 KiB, line 64 B, ways unknown".
[[nodiscard]] std::string classic_values_text(const ClassicReading& reading);
/// The argument, and why the rest is unknown.
[[nodiscard]] std::string classic_text(const ClassicReading& reading);

} // namespace recount::caches
