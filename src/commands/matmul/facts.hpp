// Facts of matrix products: each number once, with its interval, witness, evidence and text. Pure.
#pragma once

#include "run/result/products.hpp"
#include "show/document/document.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

/// "counted by perf", "modelled", "modelled (i7-9700)": of this machine without how the model was simulated.
[[nodiscard]] std::string describe(const Witness& witness);
/// How a number is written.
enum class Kind { count, per_thousand, number, share, factor, points, place };
/// "27.11" (millions), "98.31 %", "2.0 x", "-0.35".
[[nodiscard]] std::string format(Kind kind, double value);
/// Two significant digits; three where they would hide on which side of 1 it is.
[[nodiscard]] std::string format_factor(double value);

/// A metric of a product: counted, or derived from others of the same witness and processes.
struct MetricRow {
  std::string name;  ///< "PAPI_L1_DCM", "L1_HIT_RATE"
  std::string label; ///< "L1 misses (10^6)"
  Kind kind = Kind::count;
  std::string unit = {}; ///< "s", "GFLOP/s"; empty: a count or a ratio
  /// Of a derived one. The first applies whose metrics were all counted, and of whose values a rate is from 0
  /// to 1. `operations`: 2 n^3; `line`: bytes of a cache line.
  std::vector<const char*> formulas = {};
};
[[nodiscard]] const std::vector<MetricRow>& metric_rows();

/// The statistic of a counted metric, or the formula of a derived one applied to the statistic of each
/// operand; the interval is that of its values by repetition. By `witness`, or if that is empty by the
/// preferred one that counted all operands.
[[nodiscard]] std::optional<Quantity> quantity(const ProductGroup& group, const Product& product,
                                               const std::string& name, const Witness& witness = {});
/// A number of a product, for a figure.
using QuantityOf = std::function<std::optional<Quantity>(const ProductGroup&, const Product&)>;
/// quantity() of this metric.
[[nodiscard]] QuantityOf metric(const std::string& name, const Witness& witness = {});

/// The metric by which the times of two products are compared: "cpu_seconds" where a repetition of either was
/// disturbed, since that lengthens its elapsed time but hardly its CPU time; else "seconds".
[[nodiscard]] std::string time_metric(const ProductGroup& group, const Product& a, const Product& b);

/// One number as it is shown, everywhere the same.
struct Fact {
  std::string machine; ///< "CPU on HOST"
  Product product;
  std::string metric;                    ///< "PAPI_L1_DCM", "seconds"; of a comparison, that of both sides
  std::string name;                      ///< the same, or "speed-up by time"
  std::optional<Product> reference = {}; ///< of a comparison
  Kind kind = Kind::count;
  std::optional<Quantity> quantity = {};
  std::string absence = {}; ///< without a value: "not counted", "-" of a comparison
  std::string reason = {};  ///< why there is no value, or why it allows no conclusion
  statistics::Statistic statistic = statistics::Statistic::median;

  [[nodiscard]] bool known() const { return quantity.has_value(); }
  /// Whether a comparison has a value that its repetitions establish.
  [[nodiscard]] bool clear() const { return quantity && quantity->clear(); }
  [[nodiscard]] double value() const { return quantity->value; }
  /// Of a comparison of times: whether more repetitions would change nothing: there is no value, it is
  /// clear, or both are equal within 2 %.
  [[nodiscard]] bool decided() const;
  /// In a cell: "2.0 x", "2.0 x ?" of one that is not established, or the absence.
  [[nodiscard]] std::string text() const;
  /// In a sentence: "2.0 x", "about 2.0 x (not established)".
  [[nodiscard]] std::string words() const;
  /// The value with its interval, for CSV.
  [[nodiscard]] show::Datum datum() const;
};

[[nodiscard]] Fact fact(const ProductGroup& group, const Product& product, const std::string& name,
                        const Witness& witness = {});
/// How many times faster `product` is than `reference`, by a time or cycles, or the difference of a hit rate,
/// with the evidence. No value where a side is missing or by another witness.
[[nodiscard]] Fact comparison(const ProductGroup& group, const Product& product, const Product& reference,
                              const std::string& name);
/// Of a modelled value, over the published or measured one.
[[nodiscard]] Fact ratio(const Fact& a, const Fact& b);

/// A fact, and the caption of the table that shows it.
struct Shown {
  std::string place;
  Fact fact;
};
/// Throws recount::Error (bad_input) with the place of a fact that contradicts itself or another: a value
/// outside its interval, a rate outside 0 to 1, two values of one fact, a speed-up or a difference that does
/// not follow from the facts of its sides, hits and misses whose sum is not the accesses.
void check_facts(const std::vector<Shown>& all);

} // namespace recount::matmul
