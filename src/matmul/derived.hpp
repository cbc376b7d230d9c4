// What follows from the counts of a product: rates, ratios, speed-ups. Pure.
#pragma once

#include "document/document.hpp"
#include "matmul/products.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::matmul {

/// What a derived metric is made of, by one witness.
struct DerivedParts {
  std::function<std::optional<double>(const char* metric)> counted;
  double operations = 0, line = 64; ///< of the product; bytes of a cache line
};

/// A row of the table of derived metrics.
struct Derivation {
  const char* name;  ///< "L1_HIT_RATE"
  const char* label; ///< "L1 hit rate"
  const char* form;  ///< in words: "1 - PAPI_L1_DCM / (PAPI_LD_INS + PAPI_SR_INS)"
  /// Nothing where a part was not counted, or the divisor is 0.
  std::optional<double> (*of)(const DerivedParts& parts);
  bool counted; ///< from counts; else from the clock's times
};

[[nodiscard]] std::span<const Derivation> derivations();

/// The formula applied to the statistic of each part; the interval is that of its values by repetition. By
/// the preferred witness that gives all parts, or by that one. Throws std::out_of_range for a name that is
/// not in the table.
[[nodiscard]] std::optional<Quantity> derived(const Products& group, const Product& product,
                                              const std::string& name, const Witness& witness = {});

/// Cycles of the core (PAPI_TOT_CYC) where they were counted, else of the clock's time-stamp counter, which
/// runs at a constant rate; see the witness of the quantity.
[[nodiscard]] std::optional<Quantity> cycles(const Products& group, const Product& product);
/// Seconds, by the clock or as published.
[[nodiscard]] std::optional<Quantity> seconds(const Products& group, const Product& product);

/// How a product compares with another one of the same size. Each part is missing where its numbers are, and
/// has the evidence for a difference.
struct Comparison {
  std::optional<Quantity> by_time, by_cycles; ///< speed-up: how many times faster than the other
  std::optional<Quantity> l1, l2;             ///< delta hit rate: this one's minus that of the other
};
[[nodiscard]] Comparison compare(const Products& group, const Product& product, const Product& other);

// Cells of tables of matrix products.

/// A row of such a table: a number of each product. Rows and columns without any number are left out: what
/// was not counted is explained once, elsewhere.
struct Measure {
  std::string label; ///< "L1 misses (10^6)"
  std::function<std::optional<Quantity>(const Product&)> of;
  std::string (*show)(double);
  /// Why there is no number, for its cell; none: a dash, as for a comparison of which a side is missing.
  std::function<const char*(const Product&)> why = {};
};

/// A measure by metric name, or by the name of a derived metric.
[[nodiscard]] Measure metric_measure(const Products& group, std::string label, const std::string& metric,
                                     std::string (*show)(double), const Witness& witness = {});
[[nodiscard]] Measure derived_measure(const Products& group, std::string label, const std::string& name,
                                      std::string (*show)(double), const Witness& witness = {});

/// One row per measure, one column per product; the last column names the witness. Empty without any
/// number.
[[nodiscard]] std::vector<document::Block> across(const std::string& caption,
                                                  const std::vector<Product>& products,
                                                  const std::vector<Measure>& measures);

/// A column that identifies the product of a row.
struct Lead {
  std::string head;
  std::function<std::string(const Product&)> of;
};
/// One row per product, one column per measure; a note names the witnesses.
[[nodiscard]] std::vector<document::Block> down(const std::string& caption, const std::vector<Lead>& leads,
                                                const std::vector<Product>& products,
                                                const std::vector<Measure>& measures);

} // namespace recount::matmul
