// Cells of tables of matrix products.
#pragma once

#include "document/document.hpp"
#include "matmul/derived.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

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
                                     std::string (*show)(double), const std::string& witness = {});
[[nodiscard]] Measure derived_measure(const Products& group, std::string label, const std::string& name,
                                      std::string (*show)(double), const std::string& witness = {});

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
