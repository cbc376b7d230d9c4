// What the figures of matrix products are put together from.
#pragma once

#include "matmul/derived.hpp"
#include "plot/sheet.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace recount::figure {

/// A value with its band, and who says it.
struct Told {
  double y = 0, low = 0, high = 0;
  std::string witness;
  std::size_t n = 1, flagged = 0; ///< repetitions behind it
};
using Teller = std::function<std::optional<Told>(const analysis::Products&, const analysis::Product&)>;

/// The median of a metric times a factor, with p10 and p90.
[[nodiscard]] Teller metric_teller(const std::string& metric, double factor, const std::string& witness = {});
/// Operations per second over the median of the times, in 10^9.
[[nodiscard]] std::optional<Told> gflops_told(const analysis::Products& group,
                                              const analysis::Product& product);
/// A row of analysis::derivations().
[[nodiscard]] Teller derived_teller(const std::string& name);
/// The median time of `other` over that of the product; the band takes the far ends of both.
[[nodiscard]] std::optional<Told> speed_up_told(const analysis::Products& group,
                                                const analysis::Product& product,
                                                const analysis::Product& other);

/// The colour of some loops, the same in every figure; 0: none of its own.
[[nodiscard]] int linetype_of(const analysis::Product& loops);
/// Loops in the order of the study: simple, line, block; plain before others.
[[nodiscard]] std::vector<analysis::Product> in_order(std::vector<analysis::Product> loops);

/// Gathers panels, and what the caption must say of them.
class ProductSheet {
public:
  explicit ProductSheet(std::string name) { sheet_.name = std::move(name); }
  /// Points of one curve: x and what is told there. Nothing is added where nothing is.
  void add(Panel& panel, Series series, const analysis::Products& group,
           const std::vector<std::pair<double, analysis::Product>>& points, const Teller& teller);
  /// A panel whose title says what all its witnesses are; left out when none of its curves has `least`
  /// points.
  void finish(Panel panel, const std::string& subject, std::size_t least);
  /// Whole, with its caption.
  [[nodiscard]] Sheet made();

  /// Pieces of the caption that only this figure has.
  std::vector<std::string> remarks;

private:
  Sheet sheet_;
  std::set<std::string> machines_, witnesses_; ///< behind the panels; those of the one being gathered
  std::size_t least_ = 0, most_ = 0, measured_ = 0, flagged_ = 0;
  bool modelled_ = false;
};

} // namespace recount::figure
