// What follows from the counts of a product: rates, ratios, speed-ups; and tables of them. Pure.
#pragma once

#include "run/result/products.hpp"
#include "show/document/document.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::matmul {

/// A row of the table of derived metrics.
struct Derivation {
  const char* name;  ///< "L1_HIT_RATE"
  const char* label; ///< "L1 hit rate"
  /// The first applies whose metrics were all counted. `operations`: 2 n^3; `line`: bytes of a cache line.
  std::vector<const char*> formulas;
  const char* unit = ""; ///< "GFLOP/s"; empty: a count or a ratio
};
[[nodiscard]] const std::vector<Derivation>& derivations();

/// A number of a product: a metric, a derived metric, a comparison.
using QuantityOf = std::function<std::optional<Quantity>(const ProductGroup&, const Product&)>;

/// The derived metric of this name, or the counted one: derived() or ProductGroup::quantity().
[[nodiscard]] QuantityOf metric(const std::string& name, const Witness& witness = {});
/// The formula applied to the statistic of each operand; the interval is that of its values by repetition. By
/// `witness`, or if that is empty by the preferred one that counted all operands. Throws std::out_of_range
/// for a name that is not in the table.
[[nodiscard]] std::optional<Quantity> derived(const ProductGroup& group, const Product& product,
                                              const std::string& name, const Witness& witness = {});
/// Cycles of the core (PAPI_TOT_CYC), where they were counted.
[[nodiscard]] std::optional<Quantity> core_cycles(const ProductGroup& group, const Product& product);
/// Ticks of the time-stamp counter, which has a constant rate, where cycles of the core were not counted.
[[nodiscard]] std::optional<Quantity> tsc_cycles(const ProductGroup& group, const Product& product);
/// Seconds, by the clock or as published.
[[nodiscard]] std::optional<Quantity> seconds(const ProductGroup& group, const Product& product);
/// The metric by which the times of two products are compared: "cpu_seconds" where a repetition of either was
/// disturbed, since that lengthens its elapsed time but hardly its CPU time; else "seconds".
[[nodiscard]] std::string time_metric(const ProductGroup& group, const Product& a, const Product& b);
/// " by CPU time" of "cpu_seconds"; empty of "seconds".
[[nodiscard]] const char* time_clause(const std::string& metric);

/// The quotient; nothing where a side is missing or not above 0. It is no comparison: see speed_up().
[[nodiscard]] std::optional<Quantity> ratio(const std::optional<Quantity>& a,
                                            const std::optional<Quantity>& b);
/// How many times faster `product` is than `reference`, by seconds() or cycles, with the evidence for a
/// difference. Nothing where a side is missing or by another witness.
[[nodiscard]] std::optional<Quantity> speed_up(const ProductGroup& group, const Product& product,
                                               const Product& reference, const QuantityOf& cost = seconds);
/// The derived metric of `product` minus that of `reference`, with the evidence for a difference.
[[nodiscard]] std::optional<Quantity> difference(const ProductGroup& group, const Product& product,
                                                 const Product& reference, const char* name);

/// Chooses one side of a comparison from the product of a row.
using Side = std::function<Product(const Product&)>;

/// A number of each product. Rows and columns without any number are left out; the reason is given once,
/// elsewhere.
struct Measure {
  std::string label; ///< "L1 misses (10^6)"
  QuantityOf quantity;
  std::string (*format)(double);
  bool comparison = false;           ///< an absent value is a dash, not the reason for it
  std::optional<Product> loops = {}; ///< another product, at the size of the row; none: the row's own
  std::string name = {};             ///< of the metric, for CSV
  Side of = {}, against = {};        ///< the sides of a comparison of products
};

/// Why a metric of a product has no value, as the results state it.
[[nodiscard]] std::string absence_reason(const ProductGroup& group, const Product& product,
                                         const std::string& metric);
/// The parameters of a product, as CSV has them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> product_keys(const Product& product);

/// A column of text that identifies the product of a row.
struct KeyColumn {
  std::string head;
  std::string (*text)(const Product&);
};
[[nodiscard]] std::string size_text(const Product& product);
[[nodiscard]] std::string block_text(const Product& product);

/// "1.23" of a factor.
[[nodiscard]] std::string format_factor(double factor);

/// Speed-ups by time and by cycles, differences in the hit rates of L1 and L2. `suffix`: after each label.
[[nodiscard]] std::vector<Measure> comparisons(
    const Side& reference, const std::string& suffix = {},
    const Side& product = [](const Product& p) { return p; });

enum class Direction {
  down,  ///< one row per product, one column per measure
  across ///< one row per measure, one column per product
};
/// Appends a table of products, with notes on witnesses, intervals and withheld comparisons; nothing where no
/// number is known.
void add_table(std::vector<document::Block>& blocks, const ProductGroup& group, const std::string& caption,
               const std::vector<KeyColumn>& keys, const std::vector<Product>& products,
               const std::vector<Measure>& measures, Direction direction = Direction::down);

} // namespace recount::matmul
