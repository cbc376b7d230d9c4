#include "statistics/node_scores.hpp"
#include "statistics/statistics.hpp"

#include <boost/math/special_functions/beta.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace recount::statistics {
namespace {

/// Half the width of a 95 % interval is 1.96 standard errors.
double standard_error(std::span<const NodeValue> nodes) {
  std::vector<double> errors;
  for (const NodeValue& node : nodes)
    errors.push_back((node.high - node.low) / 2 / 1.96);
  return median(errors);
}

bool is_apart(const NodeValue& node, std::span<const NodeValue> nodes) {
  const auto disjoint = std::ranges::count_if(
      nodes, [&](const NodeValue& other) { return other.low > node.high || node.low > other.high; });
  return 2 * static_cast<std::size_t>(disjoint) > nodes.size();
}

} // namespace

double score_limit(std::size_t nodes, std::size_t comparisons) {
  const auto tests = static_cast<double>(nodes * std::max<std::size_t>(1, comparisons));
  const double freedom = std::max(1.0, std::floor(static_cast<double>(nodes) / 2));
  // P(|T| > t) = I(f / (f + t^2); f / 2, 1 / 2), solved for t.
  const double x = boost::math::ibeta_inv(freedom / 2, 0.5, 0.05 / tests, Double());
  return std::max(3.5, std::sqrt(freedom * (1 - x) / x));
}

NodeScores score_nodes(std::span<const NodeValue> nodes, std::size_t comparisons, double least_share) {
  NodeScores scores;
  if (nodes.empty()) return scores;
  std::vector<double> values;
  for (const NodeValue& node : nodes)
    values.push_back(node.value);
  scores.median = median(values);
  scores.deviation = std::max(1.4826 * median_absolute_deviation(values), standard_error(nodes));
  if (nodes.size() >= least_nodes) scores.limit = score_limit(nodes.size(), comparisons);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double away = values[i] - scores.median;
    const double z = away == 0              ? 0
                     : scores.deviation > 0 ? away / scores.deviation
                                            : std::copysign(std::numeric_limits<double>::infinity(), away);
    scores.z.push_back(z);
    if (scores.limit > 0 && std::abs(z) > scores.limit &&
        std::abs(away) > least_share * std::abs(scores.median) && is_apart(nodes[i], nodes))
      scores.outliers.push_back(i);
  }
  return scores;
}

} // namespace recount::statistics
