#include "base/format.hpp"
#include "base/json.hpp"
#include "compare/compare.hpp"
#include "statistics/node_scores.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace recount::compare {
namespace {

using document::Block;

bool has_outlier(const Quantity& quantity) {
  return std::ranges::any_of(quantity.nodes, &OnNode::outlier);
}

std::string z_text(double z) {
  if (std::isinf(z)) return z > 0 ? "> 1000" : "< -1000";
  return std::abs(z) < 1000 ? fmt::format("{:.1f}", z) : z > 0 ? "> 1000" : "< -1000";
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

document::Table findings_table(const Comparison& c) {
  document::Table table{"Outliers", {{c.by, false}, {"in", false}, {"", false}}, {}};
  for (const Finding& finding : c.findings)
    table.rows.push_back({c.nodes[finding.node], finding.subject, finding.text});
  return table;
}

/// A row for each value of a fact, with the nodes that have it.
document::Table differences_table(const Comparison& c) {
  constexpr std::size_t most_named = 6;
  document::Table table{
      "Differences between the machines", {{"fact", false}, {"value", false}, {c.by, false}}, {}};
  for (const Difference& difference : c.differences) {
    std::map<std::string, std::vector<std::string>> by_value;
    for (std::size_t node = 0; node < c.nodes.size(); ++node)
      by_value[difference.values[node]].push_back(c.nodes[node]);
    for (const auto& [value, nodes] : by_value) {
      std::string names;
      for (std::size_t i = 0; i < std::min(nodes.size(), most_named); ++i)
        names += (i > 0 ? " " : "") + nodes[i];
      if (nodes.size() > most_named) names += fmt::format(" and {} more", nodes.size() - most_named);
      table.rows.push_back({difference.name, value, names});
    }
  }
  return table;
}

std::vector<std::string> row_of(const Comparison& c, const Quantity& quantity, std::size_t node) {
  const OnNode& on = quantity.nodes[node];
  std::vector<std::string> row{c.nodes[node], std::to_string(on.values.size())};
  if (on.values.empty()) {
    row.insert(row.end(), {"not counted", "", "", ""});
    return row;
  }
  row.push_back(number(on.value));
  row.push_back(on.high > on.low ? fmt::format("{} to {}", number(on.low), number(on.high)) : "-");
  row.push_back(on.ratio ? fmt::format("{:.3f}", *on.ratio) : "-");
  row.push_back(z_text(on.z.value_or(0)) + (on.outlier ? " *" : ""));
  return row;
}

std::vector<document::Table::Column> columns_of(const Comparison& c) {
  return {{c.by, false}, {"n"}, {"median"}, {"95 % interval"}, {"ratio"}, {"z"}};
}

/// Of many nodes, the outliers alone unless `all`.
document::Table quantity_table(const Comparison& c, const Quantity& quantity, bool all) {
  constexpr std::size_t few = 16;
  document::Table table{title_of(quantity), columns_of(c), {}};
  for (std::size_t node = 0; node < c.nodes.size(); ++node)
    if (quantity.nodes[node].measured && (all || c.nodes.size() <= few || quantity.nodes[node].outlier))
      table.rows.push_back(row_of(c, quantity, node));
  return table;
}

document::Table all_quantities(const Comparison& c) {
  document::Table table{"Quantities", {{"kernel", false}, {"metric", false}, {"point", false}}, {}};
  for (auto& column : columns_of(c))
    table.columns.push_back(column);
  for (const Quantity& quantity : c.quantities)
    for (std::size_t node = 0; node < c.nodes.size(); ++node) {
      if (!quantity.nodes[node].measured) continue;
      std::vector<std::string> row{quantity.kernel, quantity.witness + " " + quantity.metric,
                                   place_of(quantity)};
      for (auto& cell : row_of(c, quantity, node))
        row.push_back(std::move(cell));
      table.rows.push_back(std::move(row));
    }
  return table;
}

std::string basis_text(const Comparison& c) {
  const std::size_t shown = c.quantities.size();
  std::string text = fmt::format("{} (by {}), {} in common", base::format_count(c.nodes.size(), "node"), c.by,
                                 base::format_count(shown, "quantity", "quantities"));
  if (c.apart > 0) text += fmt::format(", {} more on one node only", c.apart);
  if (c.nodes.size() < statistics::least_nodes)
    return text + fmt::format(". Under {} nodes no outlier can be named.", statistics::least_nodes);
  const auto judged =
      std::ranges::find_if(c.quantities, [](const Quantity& q) { return q.limit.has_value(); });
  if (judged == c.quantities.end())
    return text + fmt::format(". No quantity has values on {} nodes, so no outlier can be named.",
                              statistics::least_nodes);
  return text +
         fmt::format(". z: distance from the median of the nodes in units of 1.4826 MAD; an outlier (*) "
                     "exceeds {:.3g}.",
                     *judged->limit);
}

Json json_of(const Comparison& c, const Quantity& quantity) {
  Json json{{"kernel", quantity.kernel}, {"witness", quantity.witness}, {"metric", quantity.metric}};
  if (!quantity.unit.empty()) json["unit"] = quantity.unit;
  json["point"] = Json::parse(result::params_json(quantity.point));
  json["points"] = quantity.points;
  json["median"] = quantity.median;
  json["limit"] = or_null(quantity.limit);
  json["nodes"] = Json::array();
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    const OnNode& on = quantity.nodes[node];
    if (!on.measured) continue;
    Json one{{"node", c.nodes[node]}, {"n", on.values.size()}};
    const bool any = !on.values.empty();
    one["median"] = any ? Json(on.value) : Json();
    if (on.high > on.low) one["interval"] = {on.low, on.high};
    one["ratio"] = or_null(on.ratio);
    one["z"] = on.z && std::isfinite(*on.z) ? Json(*on.z) : Json();
    one["outlier"] = on.outlier;
    if (!any) one["reason"] = on.reason;
    json["nodes"].push_back(std::move(one));
  }
  return json;
}

} // namespace

std::vector<Block> comparison_blocks(const Comparison& c, bool all) {
  std::vector<Block> blocks;
  if (!c.findings.empty())
    blocks.emplace_back(findings_table(c));
  else if (c.nodes.size() >= statistics::least_nodes)
    blocks.emplace_back(document::Paragraph{"No outlier."});
  blocks.emplace_back(document::Paragraph{basis_text(c)});
  if (!c.differences.empty()) blocks.emplace_back(differences_table(c));
  const bool few = c.quantities.size() * c.nodes.size() <= 16; // fits on a screen
  for (const Quantity& quantity : c.quantities) {
    if (!all && !few && quantity.points == 1 && !has_outlier(quantity)) continue;
    auto table = quantity_table(c, quantity, all);
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  }
  return blocks;
}

std::vector<Block> comparison_tables(const Comparison& c) {
  std::vector<Block> blocks;
  if (!c.findings.empty()) blocks.emplace_back(findings_table(c));
  if (!c.differences.empty()) blocks.emplace_back(differences_table(c));
  blocks.emplace_back(all_quantities(c));
  return blocks;
}

std::string comparison_json(const Comparison& c) {
  Json json{{"by", c.by}, {"nodes", c.nodes}, {"least_nodes", statistics::least_nodes}};
  json["outliers"] = Json::array();
  for (const Finding& finding : c.findings)
    json["outliers"].push_back(
        {{"node", c.nodes[finding.node]}, {"in", finding.subject}, {"text", finding.text}});
  json["differences"] = Json::array();
  for (const Difference& difference : c.differences) {
    Json values = Json::object();
    for (std::size_t node = 0; node < c.nodes.size(); ++node)
      values[c.nodes[node]] = difference.values[node];
    json["differences"].push_back({{"fact", difference.name}, {"values", std::move(values)}});
  }
  json["quantities"] = Json::array();
  for (const Quantity& quantity : c.quantities)
    json["quantities"].push_back(json_of(c, quantity));
  json["on_one_node_only"] = c.apart;
  return json_text("compare", json);
}

} // namespace recount::compare
