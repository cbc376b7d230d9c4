// What follows from the counts of a product: rates, ratios, speed-ups. Pure.
#pragma once

#include "matmul/products.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>

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
                                              const std::string& name, const std::string& witness = {});

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

} // namespace recount::matmul
