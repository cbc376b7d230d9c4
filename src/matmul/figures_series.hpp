// Building blocks of the figures of matrix products.
#pragma once

#include "matmul/derived.hpp"
#include "plot/sheet.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace recount::matmul {

/// A value with its band and its witness.
struct PlottedValue {
  double y = 0, low = 0, high = 0;
  std::string witness;
  std::size_t n = 1, flagged = 0; ///< repetitions behind it
};
using PlottedValueOf = std::function<std::optional<PlottedValue>(const Products&, const Product&)>;

/// The statistic of a metric times a factor, with its interval.
[[nodiscard]] PlottedValueOf metric_value(const std::string& metric, double factor,
                                          const std::string& witness = {});
/// The row GFLOPS of derivations().
[[nodiscard]] std::optional<PlottedValue> gflops_value(const Products& group, const Product& product);
/// A row of matmul::derivations().
[[nodiscard]] PlottedValueOf derived_value(const std::string& name);
/// compare().by_time, also where the evidence does not support it: the band shows that.
[[nodiscard]] std::optional<PlottedValue> speed_up_value(const Products& group, const Product& product,
                                                         const Product& other);

/// The colour of some loops, the same in every figure; 0: none of its own.
[[nodiscard]] int linetype_of(const Product& loops);
/// Loops in the order of the study: simple, line, block; plain before others.
[[nodiscard]] std::vector<Product> in_order(std::vector<Product> loops);

/// Collects panels and their caption.
class ProductSheet {
public:
  explicit ProductSheet(std::string name) { sheet_.name = std::move(name); }
  /// Points of one curve. Points without a value are omitted.
  void add(plot::Panel& panel, plot::Series series, const Products& group,
           const std::vector<std::pair<double, Product>>& points, const PlottedValueOf& value_of);
  /// A panel whose title names its witnesses; omitted when none of its curves has `least`
  /// points.
  void finish(plot::Panel panel, const std::string& subject, std::size_t least);
  /// Whole, with its caption.
  [[nodiscard]] plot::Sheet made();

  /// Pieces of the caption that only this figure has.
  std::vector<std::string> remarks;

private:
  plot::Sheet sheet_;
  std::set<std::string> machines_, witnesses_; ///< behind the panels; those of the one being gathered
  std::size_t least_ = 0, most_ = 0, measured_ = 0, flagged_ = 0;
  bool modelled_ = false;
  statistics::Statistic statistic_ = statistics::Statistic::median;
};

// Figures of matrix products against the size of a block, of the laboratory, and the roofline.
void blocks_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void block_misses_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void lab_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void roofline_figure(ProductSheet& sheet, const std::vector<Products>& groups);

} // namespace recount::matmul
