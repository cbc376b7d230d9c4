#include "compare/compare.hpp"
#include "plot/select.hpp"
#include "statistics/node_scores.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace recount::compare {
namespace {

constexpr std::size_t most_panels = 4, most_names = 8;

/// Those with an outlier first, then as they are; of one kernel, witness and metric one alone.
std::vector<const Quantity*> to_draw(const Comparison& c) {
  std::vector<const Quantity*> all;
  for (const Quantity& quantity : c.quantities)
    if (quantity.median != 0 && quantity.count() > 1) all.push_back(&quantity);
  std::ranges::stable_sort(
      all, {}, [](const Quantity* q) { return !std::ranges::any_of(q->nodes, &OnNode::outlier); });
  std::vector<const Quantity*> drawn;
  for (const Quantity* quantity : all) {
    const bool there = std::ranges::any_of(drawn, [&](const Quantity* other) {
      return other->kernel == quantity->kernel && other->witness == quantity->witness &&
             other->metric == quantity->metric;
    });
    if (!there && drawn.size() < most_panels) drawn.push_back(quantity);
  }
  return drawn;
}

/// Without the domain, where that leaves them distinct.
std::vector<std::string> short_names(const std::vector<std::string>& nodes) {
  std::vector<std::string> names;
  for (const std::string& node : nodes)
    names.push_back(node.substr(0, node.find('.')));
  return std::set(names.begin(), names.end()).size() == nodes.size() ? names : nodes;
}

/// All names where they are few; else those of outliers.
std::vector<std::string> names_of(const Comparison& c, const Quantity& quantity) {
  std::vector<std::string> names = short_names(c.nodes);
  std::size_t named = 0;
  for (std::size_t node = 0; node < names.size() && c.nodes.size() > most_names; ++node)
    if (!quantity.nodes[node].outlier || ++named > most_names) names[node].clear();
  return names;
}

plot::Panel panel_of(const Comparison& c, const Quantity& quantity) {
  plot::Panel panel;
  panel.title = title_of(quantity);
  panel.y_title = "ratio to the median";
  panel.x_along = plot::Panel::Along::names;
  panel.x_names = names_of(c, quantity);
  plot::Series usual, odd;
  usual.look = odd.look = plot::Series::Look::points;
  usual.band = odd.band = true;
  usual.modelled = odd.modelled = plot::is_model(quantity.witness);
  usual.label = std::ranges::any_of(quantity.nodes, &OnNode::outlier) ? "others" : "";
  odd.label = "outlier";
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    const OnNode& on = quantity.nodes[node];
    if (!on.ratio) continue;
    const auto [low, high] = std::minmax({on.low / quantity.median, on.high / quantity.median});
    (on.outlier ? odd : usual).samples.push_back({static_cast<double>(node + 1), *on.ratio, low, high});
  }
  for (auto* series : {&usual, &odd})
    if (!series->samples.empty()) panel.series.push_back(std::move(*series));
  return panel;
}

} // namespace

plot::Sheet compose_nodes(const Comparison& c, const result::Results& results) {
  plot::Sheet sheet;
  sheet.name = "nodes";
  for (const Quantity* quantity : to_draw(c))
    sheet.panels.push_back(panel_of(c, *quantity));
  if (sheet.panels.empty())
    throw bad_input("figure nodes", "no metric has values on two nodes",
                    "use results of the same points on several machines");
  sheet.caption.push_back(fmt::format("{} nodes, bars: 95 % intervals", c.nodes.size()));
  for (std::string& machine : plot::machine_names(results))
    sheet.caption.push_back(std::move(machine));
  return sheet;
}

plot::Figure nodes_figure() {
  return {{"nodes", "each metric on several machines, relative to their median",
           "results of the same points on two machines or more"},
          [](const auto& results, const auto&) { return compose_nodes(compare(results, {}), results); },
          [](const auto& results, const auto& choice) {
            return choice.metrics.empty() && choice.witnesses.empty() && several_nodes(results) &&
                   !compare(results, {}).quantities.empty();
          }};
}

} // namespace recount::compare
