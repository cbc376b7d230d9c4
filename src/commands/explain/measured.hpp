// Counts of matrix products by one group of people on one machine, as cells of a table.
#pragma once

#include "base/witness.hpp"
#include "run/result/products.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recount::explain {

inline constexpr const char* l1_metric = "PAPI_L1_DCM";
inline constexpr const char* l2_metric = "PAPI_L2_DCM";
inline constexpr const char* seconds_metric = "seconds";

/// A product of doubles: a row of a table.
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
  Witness witness; ///< of all of them

  explicit Values(std::vector<double> all, Witness from = {});
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

/// From a published table (.csv), lines of counts (.txt, see table_from_text()) or a results file. Throws
/// recount::Error (bad_input).
[[nodiscard]] std::vector<Group> read_measured(const std::string& file);

// What a table of counts shows about itself, without any machine.

/// Decimal digits from the first to the last that is not 0. Pure.
[[nodiscard]] int count_digits(double value);

/// Factors by which slips of a digit or of a unit change a value.
inline constexpr double slip_factors[] = {8, 10, 1000, 1024, 1e6};
/// "10 times too small", "1000 or 1024 times too large": the factors that a ratio, or its inverse, is within
/// `precise` of; else the nearest one that it is within `most` of; else empty. Pure.
[[nodiscard]] std::string slip_text(double ratio, double precise, double most);

/// Something that is wrong with a table, or that limits what it can show.
struct TableFinding {
  enum class Kind { digit_lost, digit_added, copied, outlier, rotated, rounded, more_than_l1, dead };
  Kind kind;
  std::string metric; ///< of the first cell
  std::vector<Cell> cells;
  std::string text;      ///< one sentence
  std::string slip = {}; ///< "10 times too small", of a value with a wrong digit or unit
};

/// In the order of the kinds. Pure.
[[nodiscard]] std::vector<TableFinding> check_table(const Group& group);

/// Replaces the finding of the cells with more misses in L2 than in L1. Pure.
void check_levels(const Column& l1, const Column& l2, std::vector<TableFinding>& found);

/// Whether the value of a cell is wrong by a finding: a digit lost or added, a dead event.
[[nodiscard]] bool is_mistaken(const std::vector<TableFinding>& findings, const std::string& metric,
                               const Cell& cell);

/// Half a unit of the last significant digit of the values of a column, as a share; 0 for more than 6 digits.
[[nodiscard]] double rounding(const Column& column);

} // namespace recount::explain
