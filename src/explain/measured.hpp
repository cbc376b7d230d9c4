// Counts of matrix products by one group of people on one machine, as cells of a table.
#pragma once

#include "matmul/products.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recount::explain {

inline constexpr const char* l1_metric = "PAPI_L1_DCM";
inline constexpr const char* l2_metric = "PAPI_L2_DCM";

/// A product of doubles, by what its row is called.
struct Cell {
  std::string loops; ///< variant of the kernel matmul: "ijk", "ikj", "blocked" ...
  std::int64_t block = 0, n = 0;
  auto operator<=>(const Cell&) const = default;

  [[nodiscard]] double cube() const {
    return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  }
  /// "simple, n = 600", "block 128, n = 4096".
  [[nodiscard]] std::string text() const;
};

/// The runs of a cell.
struct Values {
  std::vector<double> runs;             ///< in their order
  double median = 0, low = 0, high = 0; ///< the range without outliers
  std::vector<double> outliers;

  explicit Values(std::vector<double> all);
};

using Column = std::map<Cell, Values>;

struct Group {
  std::string name;                      ///< as it is printed
  std::string cpu;                       ///< as stated; for readers
  std::map<std::string, Column> columns; ///< by metric: "PAPI_L1_DCM", "seconds"

  [[nodiscard]] const Column& column(const std::string& metric) const;
};

/// What was counted or published, of each machine of the results; products of other elements, vectorised ones
/// and modelled values are left out, and so are groups without cells.
[[nodiscard]] std::vector<Group> measured_groups(const std::vector<matmul::ProductGroup>& all);

/// A published table (CSV, recount-matmul(1)) of lines "NAME: VALUE", "NAME = VALUE" or "NAME VALUE". Names,
/// in any case: variant, n, block, time or seconds, and misses of L1 and L2 as "PAPI_L1_DCM" or "L1 DCM". A
/// product holds for the counts behind it; a count that is there already begins a further run. Other lines
/// are ignored. Pure. Throws recount::Error (bad_input) naming file and line.
[[nodiscard]] std::string table_from_text(std::string_view text, const std::string& file);

/// From a published table (.csv), lines of counts (.txt, see table_from_text()) or a results file. Throws
/// recount::Error (bad_input).
[[nodiscard]] std::vector<Group> read_measured(const std::string& file);

} // namespace recount::explain
