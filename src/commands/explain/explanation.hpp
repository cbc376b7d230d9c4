// Hypotheses against the counts of one group: which are refuted, which explain them, what would separate
// them.
#pragma once

#include "base/witness.hpp"
#include "model/machine.hpp"
#include "model/nest.hpp"
#include "run/result/products.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace recount::explain {

// Counts of matrix products by one group of people on one machine, as cells of a table.

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

// The hypotheses of recount explain, as data.

/// A set of machine options that decides PAPI_L1_DCM.
struct MachineHypothesis {
  std::string machine; ///< as after "model:"
  bool huge = false;   ///< the data are in huge pages
  std::string claim;
};

/// What a preset of L2 counts, as multiples of the lines that must come from outside.
struct CountHypothesis {
  std::string name;
  double least = 0, most = 0;
  std::string claim;
};

/// How far the model may be off for some loops from a size on, as a share.
struct Allowance {
  std::string loops;
  std::int64_t from = 0;
  double share = 0;
};

struct Hypotheses {
  std::vector<MachineHypothesis> machines;
  std::vector<CountHypothesis> counts;
  std::vector<Allowance> allowances;

  /// The share of the last row that applies; 0 if none does.
  [[nodiscard]] double allowance(const std::string& loops, std::int64_t n) const;
};

/// Rows "L1 | ...", "L2 | ..." and "allowance | ...", as in data/hypotheses.txt. Throws recount::Error
/// (bad_input) naming the line. Machines are not looked up.
[[nodiscard]] Hypotheses parse_hypotheses(std::string_view text, const std::string& file);
/// data/hypotheses.txt.
[[nodiscard]] const Hypotheses& shipped_hypotheses();

/// c += a * b for n x n doubles whose first element is 16 bytes from a page boundary, as malloc() returns it.
/// `order`: a permutation of i, j and k, the outermost first; if k is innermost, the sum is kept in a
/// register; with a suffix "2", k is unrolled by two. `block` > 0: square blocks in the order ii, jj, kk, and
/// `order` inside of each. Bases of the matrices: model::array_base().
[[nodiscard]] model::Nest product_nest(const std::string& order, std::int64_t n, std::int64_t block,
                                       const std::optional<model::Placement>& placement);

/// A modelled count, and its range over the draws of placement, with the error of sampling.
struct Predicted {
  double value = 0, low = 0, high = 0;
};

/// Simulates PAPI_L1_DCM of products, and keeps what it has simulated. Not thread-safe.
class Predictor {
public:
  /// `machine`: as after "model:", see model::machine(); of its caches only the first level is simulated,
  /// with its prefetchers. `order`: see product_nest(). `draws`: placements of the matrices, 1 at least.
  /// Throws recount::Error (bad_input) for an unknown machine.
  [[nodiscard]] Predicted l1_misses(const std::string& machine, const std::string& order, std::int64_t n,
                                    std::int64_t block, std::size_t draws = 1);
  [[nodiscard]] std::size_t simulated() const { return cells_.size(); }

private:
  using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;
  const model::MachineDescription& first_level(const std::string& machine);

  std::map<std::string, model::MachineDescription> machines_;
  std::map<Key, std::vector<Predicted>> cells_; ///< element i: over the draws 0 to i
};

/// A cell and what a hypothesis predicts for it.
struct Comparison {
  Cell cell;
  double measured = 0;
  Predicted predicted;
  double off = 0;       ///< signed gap between the predicted and the measured range, as a share; 0: none
  double allowance = 0; ///< of `off`: of the model and of rounded values
  Witness witness = {}; ///< of `measured`
  [[nodiscard]] bool refutes() const { return off > allowance || off < -allowance; }
};

/// Predicted against measured, both ranges. Pure.
[[nodiscard]] Comparison compare_cell(const Cell& cell, const Values& measured, const Predicted& predicted,
                                      double allowance);

/// A hypothesis about the machine.
struct Trial {
  const MachineHypothesis* hypothesis = nullptr;
  std::vector<Comparison> compared; ///< cells of simple, and of line unless it was refuted before
  bool abandoned = false;           ///< refuted by too many cells, so that the rest was not simulated
  bool survives = true;
  [[nodiscard]] std::vector<Comparison> refuting() const;
};

/// A hypothesis that more cells refute is refuted, whatever the others explain.
[[nodiscard]] constexpr std::size_t max_unexplained(std::size_t all) {
  return all / 4;
}

/// Decides which of the surviving trials survive the cells of some loops. An abandoned one does not. A cell
/// that refutes all others decides nothing; such cells are returned. Any other cell ends the trials that it
/// refutes. Pure.
std::vector<Cell> refute(std::vector<Trial>& trials, const std::string& loops);

/// Rows whose values do not fit the loops that they are named after.
struct OtherLoops {
  std::string named;               ///< "ijk"
  std::vector<std::string> orders; ///< those that fit, as printed; empty: none was found
};

/// Rows of the same loops whose values are in the wrong order.
struct MovedRows {
  std::string loops;
  std::size_t cells = 0, in_place = 0; ///< rows, and those whose value is possible for their size
  bool digit = false;                  ///< one value had also lost a digit
};

/// Sorts the values of PAPI_L1_DCM by size where most are impossible for their sizes and all are possible
/// once sorted. Pure.
[[nodiscard]] std::vector<MovedRows> sort_moved_rows(Column& column);

/// A hypothesis about what PAPI_L2_DCM counts.
struct CountTrial {
  const CountHypothesis* hypothesis = nullptr;
  std::vector<Cell> refuting;
  bool survives = false;
};

/// Lines that L1 fetched beyond the model, per run of the innermost loop of blocks.
struct BlockExcess {
  std::int64_t block = 0;
  double lines = 0;
};

/// A product whose count separates hypotheses that remain.
struct NextMeasurement {
  Cell cell;
  std::vector<std::pair<const MachineHypothesis*, double>> predicted; ///< misses of L1
  [[nodiscard]] double factor() const;
};

struct Explanation {
  std::string group, cpu;
  std::vector<TableFinding> findings;
  bool exchanged = false;        ///< PAPI_L2_DCM holds the values of PAPI_L1_DCM
  bool exchanged_labels = false; ///< rows of simple hold the values of line, and the other way round
  std::string rescaled;          ///< "1000 times too large": all values of PAPI_L1_DCM; empty: they are not
  bool l1 = false;               ///< there were enough counts of L1 to try hypotheses
  std::vector<Trial> trials;
  std::vector<Cell> unexplained; ///< by every hypothesis that is not out
  std::vector<OtherLoops> other_loops;
  std::vector<MovedRows> moved;
  std::vector<CountTrial> counts;
  double lines_requested = 0; ///< median of PAPI_L2_DCM over the lines of streamed matrices; 0: not known
  std::vector<BlockExcess> blocks;
  std::string blocks_model; ///< of which machine: the first survivor, else a shipped one
  std::optional<NextMeasurement> next;

  /// None where nothing was tried.
  [[nodiscard]] std::vector<const Trial*> survivors() const;
  /// What all survivors have in common ("4 KiB pages"), and what they differ in.
  [[nodiscard]] std::vector<std::string> determined() const;
  [[nodiscard]] std::vector<std::string> undetermined() const;
};

/// Explains groups one after the other; cells that several need are simulated once. Keeps references.
class Explainer {
public:
  Explainer(const Hypotheses& hypotheses, Predictor& predictor)
      : hypotheses_(hypotheses), predictor_(predictor) {}
  [[nodiscard]] Explanation explain(const Group& group);

private:
  void try_machines(const Column& column, Explanation& to);
  /// Compares with the cells of some loops, written in some order, until too many refute: then false.
  bool compare(const MachineHypothesis& hypothesis, const Column& column, const std::string& loops,
               const std::string& order, std::vector<Comparison>& to);
  void find_other_loops(const Column& column, const std::string& loops, Explanation& to);
  void measure_blocks(const Column& column, Explanation& to);
  void choose_next(Explanation& to);
  [[nodiscard]] Comparison predict(const MachineHypothesis& hypothesis, const Cell& cell,
                                   const Values& values, const std::string& order, double rounded);

  const Hypotheses& hypotheses_;
  Predictor& predictor_;
};

} // namespace recount::explain
