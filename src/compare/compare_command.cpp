#include "base/format.hpp"
#include "base/json.hpp"
#include "base/witness.hpp"
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/print.hpp"
#include "command/terminal.hpp"
#include "compare/compare.hpp"
#include "plot/select.hpp"
#include "statistics/node_scores.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

// recount compare: results of several machines side by side.
namespace recount::compare {
namespace {

struct CompareArguments {
  std::vector<std::string> files, by;
  std::string plot, export_to;
  long threshold = 5;
  bool all = false, json = false;
};

/// All files, and the file of each run.
result::Results read_files(const CompareArguments& a, CompareOptions& options) {
  if (a.files.empty())
    throw bad_input("recount compare", "no results file given",
                    "recount compare FILE ..., with files of recount sweep -o FILE from several machines");
  if (std::ranges::count(command::list_words(a.by), "file") > 0)
    for (const std::string& path : a.files)
      for (const result::Run& run : result::read(path).runs)
        options.files.try_emplace(run.id, std::filesystem::path(path).filename().string());
  auto results = result::read(a.files);
  for (const std::string& warning : results.warnings)
    command::note("recount compare: warning: {}\n", warning);
  return results;
}

void demand_several(const Comparison& c) {
  if (c.nodes.size() < 2)
    throw bad_input(
        "recount compare",
        fmt::format("all results are of one {}: {}", c.by, c.nodes.empty() ? "(none)" : c.nodes[0]),
        "name files of several machines, or compare by something else: --by file");
  if (c.quantities.empty())
    throw unavailable("recount compare", "no metric was counted at the same point on two nodes", {},
                      "run the same command on each node");
}

void plot_nodes(const std::string& path, const Comparison& c, const result::Results& results) {
  if (path.empty()) return;
  const plot::Sheet sheet = compose_nodes(c, results);
  if (path == "-")
    command::print("{}", command::own_controls(plot::draw_text(sheet, command::terminal_size())));
  else
    command::draw_to(path, sheet);
}

int execute_compare(const CompareArguments& a) {
  command::check_outputs({.plot = a.plot, .plot_on_terminal = true, .json = a.json});
  const command::TableExport tables(a.export_to);
  CompareOptions options;
  if (!a.by.empty()) options.by = fmt::format("{}", fmt::join(command::list_words(a.by), ","));
  options.least_share = static_cast<double>(a.threshold) / 100;
  const result::Results results = read_files(a, options);
  const Comparison comparison = compare(results, options);
  demand_several(comparison);
  if (a.json)
    command::print("{}", comparison_json(comparison));
  else
    command::print("{}", command::document_text(comparison_blocks(comparison, a.all)));
  command::flush(stdout);
  if (!a.export_to.empty())
    tables.write("recount compare", command::tables_of(comparison_tables(comparison)));
  plot_nodes(a.plot, comparison, results);
  return comparison.findings.empty() ? 0 : 1;
}

} // namespace

command::Command compare_command() {
  return {"compare", "compare the results of several machines and name outliers",
          [](command::Options& options) -> std::function<int()> {
            const auto a = std::make_shared<CompareArguments>();
            options.words("FILE", a->files, "results files of several machines, compilers or commits")
                .list("--by", a->by, "LIST",
                      "what distinguishes the nodes: node, host, file, cpu, compiler, ... (default node)")
                .number("--threshold", a->threshold, "PERCENT",
                        "smallest difference from the median to report (default 5)", {0, 1000})
                .flag("-a,--all", a->all, "list every quantity")
                .flag("--json", a->json, "print one JSON object")
                .text("--export", a->export_to, "FILE", command::export_help)
                .text("--plot", a->plot, "FILE",
                      "plot a dot for each node with its interval; - plots text on the terminal");
            return [a] { return execute_compare(*a); };
          }};
}

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
      std::vector<std::string> row{quantity.kernel, quantity.witness.name() + " " + quantity.metric,
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
  usual.modelled = odd.modelled = quantity.witness.modelled();
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

document::Section compare_section() {
  return {"machines", [](const document::Material& material) {
            std::vector<document::Block> blocks;
            if (!several_nodes(material.results)) return blocks;
            const Comparison comparison = compare(material.results, {});
            if (comparison.quantities.empty()) return blocks;
            blocks = comparison_blocks(comparison, false);
            const document::Part all{"", false, document::unowned(material.results)};
            if (auto picture = material.gallery.add("nodes", all)) blocks.emplace_back(std::move(*picture));
            return document::under("Machines compared", std::move(blocks));
          }};
}

} // namespace recount::compare
