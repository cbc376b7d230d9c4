// recount compare: results of several machines side by side.
#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "commands/compare/compare.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/ranges.h>
#include <set>

namespace recount::compare {
namespace {

struct CompareArguments {
  std::vector<std::string> files, by;
  std::string plot, export_to;
  long threshold = 5;
  bool all = false, json = false;
};

/// All files; and for the axis "file", the file of each run.
result::Results read_files(const CompareArguments& a, CompareOptions& options) {
  if (a.files.empty())
    throw bad_input("recount compare", "no results file given",
                    "recount compare FILE ..., with files of recount sweep -o FILE from several machines");
  if (std::ranges::count(options.by, "file") > 0)
    for (const std::string& path : a.files)
      for (const result::Run& run : result::read(path).runs)
        options.files.try_emplace(run.id, std::filesystem::path(path).filename().string());
  auto results = result::read(a.files);
  for (const std::string& warning : results.warnings)
    command::note("recount compare: warning: {}\n", warning);
  return results;
}

/// What an emulated machine takes is no property of a real one.
void require_one_kind(const std::vector<result::Run>& runs) {
  const auto emulated = [](const result::Run& run) { return host::is_emulated(run.cpu); };
  const auto one = std::ranges::find_if(runs, emulated);
  const auto other = std::ranges::find_if_not(runs, emulated);
  if (one == runs.end() || other == runs.end()) return;
  throw bad_input("recount compare",
                  fmt::format("run {} is of an emulated machine, run {} is not", one->id, other->id),
                  "compare emulated machines with each other");
}

void require_comparable(const Comparison& c) {
  if (c.nodes.size() < 2)
    throw bad_input(
        "recount compare",
        fmt::format("all results are of one {}: {}", c.by, c.nodes.empty() ? "(none)" : c.nodes[0]),
        "name files of several machines, or compare by something else: --by file");
  if (c.quantities.empty())
    throw unavailable("recount compare", "no metric was counted at the same point on two nodes", {},
                      "run the same command on each node");
}

int execute_compare(const CompareArguments& a, const MachineProperties& inferred) {
  command::check_outputs({.plot = a.plot, .plot_on_terminal = true, .json = a.json});
  const command::TableExport tables(a.export_to);
  CompareOptions options{.inferred = inferred};
  if (!a.by.empty()) options.by = base::list_words(a.by);
  options.min_share = static_cast<double>(a.threshold) / 100;
  const result::Results results = read_files(a, options);
  require_one_kind(results.runs);
  const Comparison comparison = compare(results, options);
  require_comparable(comparison);
  auto blocks = comparison_blocks(comparison);
  blocks.push_back(comparison_tables(comparison).back()); // all quantities
  command::print("{}", a.json  ? comparison_json(comparison)
                       : a.all ? command::document_text(blocks)
                               : screen_text(comparison, command::line_width()));
  command::flush(stdout);
  if (!a.export_to.empty())
    tables.write("recount compare", command::extract_tables(comparison_tables(comparison)));
  if (!a.plot.empty()) command::draw_to(a.plot, compose_nodes(comparison, results));
  return comparison.findings.empty() ? 0 : 1;
}

} // namespace

command::Command compare_command(const MachineProperties& inferred) {
  return command::make_command<CompareArguments>(
      "compare", "compare the results of several machines and name outliers",
      [](command::Options& options, CompareArguments& a) {
        options.words("FILE", a.files, "results files of several machines, compilers or commits")
            .list("--by", a.by, "LIST",
                  "what distinguishes the nodes: node, host, file, cpu, compiler, ... (default node)")
            .number("--threshold", a.threshold, "PERCENT",
                    "smallest difference from the median to report (default 5)", {0, 1000})
            .flag("-a,--all", a.all, "list every quantity")
            .flag("--json", a.json, "print one JSON object")
            .text("--export", a.export_to, "FILE", command::export_help)
            .text("--plot", a.plot, "FILE",
                  "plot a dot for each node with its interval; - plots text on the terminal");
      },
      [inferred](const CompareArguments& a) { return execute_compare(a, inferred); });
}

namespace {

using document::Block;
using Row = std::vector<std::string>;

/// "papi PAPI_L1_DCM (stride), size=4096".
std::string quantity_title(const Quantity& quantity) {
  const std::string point = point_name(quantity);
  return subject_name(quantity) + (point.empty() ? "" : ", " + point);
}

std::string z_text(double z) {
  if (std::abs(z) < 1000) return fmt::format("{:.1f}", z);
  return z > 0 ? "> 1000" : "< -1000";
}

show::Table findings_table(const Comparison& c) {
  show::Table table({{c.by}, {"in"}, {""}}, "Outliers");
  for (const Finding& finding : c.findings)
    table.rows.push_back({c.nodes[finding.node], finding.subject, finding.text});
  return table;
}

/// A row for each value of a fact, with the nodes that have it.
show::Table differences_table(const Comparison& c) {
  constexpr std::size_t max_named = 6;
  show::Table table({{"fact"}, {"value"}, {c.by}}, "Differences between the machines");
  for (const Difference& difference : c.differences) {
    std::map<std::string, Row> by_value;
    for (std::size_t node = 0; node < c.nodes.size(); ++node)
      by_value[difference.values[node]].push_back(c.nodes[node]);
    for (auto& [value, nodes] : by_value) {
      const std::size_t more = nodes.size() - std::min(nodes.size(), max_named);
      nodes.resize(nodes.size() - more);
      table.rows.push_back(
          {difference.name, value,
           fmt::format("{}", fmt::join(nodes, " ")) + (more > 0 ? fmt::format(" and {} more", more) : "")});
    }
  }
  return table;
}

Row make_row(const Comparison& c, const Quantity& quantity, std::size_t node) {
  const NodeQuantity& on = quantity.nodes[node];
  const std::string n = std::to_string(on.values.size());
  if (on.values.empty()) return {c.nodes[node], n, "not counted", "", "", ""};
  return {c.nodes[node],
          n,
          fmt::format("{:.4g}", on.value),
          on.high > on.low ? fmt::format("{:.4g} to {:.4g}", on.low, on.high) : "-",
          on.ratio ? fmt::format("{:.3f}", *on.ratio) : "-",
          z_text(on.z.value_or(0)) + (on.outlier ? " *" : "")};
}

/// Median, ratio and z-score of a quantity on a node, for CSV.
void add_values(std::vector<show::Datum>& data, const Comparison& c, const Quantity& quantity,
                std::size_t node) {
  const NodeQuantity& on = quantity.nodes[node];
  show::Datum datum{.keys = {{c.by, c.nodes[node]},
                             {"kernel", quantity.kernel},
                             {"points", std::to_string(quantity.points)},
                             {"outlier", on.outlier ? "yes" : "no"}},
                    .quantity = quantity.metric,
                    .unit = quantity.points > 1           ? ""
                            : is_seconds(quantity.metric) ? "s"
                                                          : quantity.unit,
                    .witness = quantity.witness.name(),
                    .repetitions = on.values.size()};
  for (const auto& [name, setting] : quantity.point)
    datum.keys.emplace_back(name, result::text(setting));
  if (on.values.empty()) {
    datum.reason = on.reason->text();
    data.push_back(datum);
    return;
  }
  data.push_back(datum.with(quantity.points > 1 ? "median of the ratios at the points" : "median", on.value,
                            on.low, on.high));
  datum.unit.clear();
  if (!on.ratio || !on.z) datum.reason = "the median is 0, or too few machines have a value";
  data.push_back(datum.with("ratio to the median of all", on.ratio));
  data.push_back(datum.with("z-score", on.z));
}

show::Table quantities_table(const Comparison& c) {
  using show::number;
  show::Table table({{"kernel"},
                     {"metric"},
                     {"point"},
                     {c.by},
                     number("n"),
                     number("median"),
                     number("95 % interval"),
                     number("ratio"),
                     number("z")},
                    "Quantities");
  for (const Quantity& quantity : c.quantities)
    for (std::size_t node = 0; node < c.nodes.size(); ++node) {
      if (!quantity.nodes[node].listed) continue;
      Row row{quantity.kernel, quantity.witness.name() + " " + quantity.metric, point_name(quantity)};
      std::ranges::move(make_row(c, quantity, node), std::back_inserter(row));
      table.add(row);
      add_values(table.data, c, quantity, node);
    }
  return table;
}

std::string basis_text(const Comparison& c) {
  std::string text = fmt::format("{} (by {}), {} in common", base::format_count(c.nodes.size(), "node"), c.by,
                                 base::format_count(c.quantities.size(), "quantity", "quantities"));
  if (c.on_one_node > 0) text += fmt::format(", {} more on one node only", c.on_one_node);
  const auto scored =
      std::ranges::find_if(c.quantities, [](const Quantity& q) { return q.limit.has_value(); });
  if (scored == c.quantities.end())
    return text + fmt::format(". Outliers need values of at least {} nodes.", statistics::min_nodes);
  return text +
         fmt::format(". z: distance from the median of the nodes in units of 1.4826 MAD; an outlier (*) "
                     "exceeds {:.3g}.",
                     *scored->limit);
}

/// "after takes 1.29 times as long as before (1.21 to 1.36): clock seconds (chase), size=16384".
std::string pair_text(const Comparison& c, const Pair& pair) {
  const Quantity& quantity = c.quantities[pair.quantity];
  if (pair.zero)
    return fmt::format("{} has {:g}, {} has {:g}: {}{}", c.nodes[pair.second],
                       quantity.nodes[pair.second].value, c.nodes[pair.first],
                       quantity.nodes[pair.first].value, quantity_title(quantity),
                       quantity.witness.modelled() ? ", modelled" : "");
  return fmt::format("{} {} {:.2f} times {} {}{}: {}{}", c.nodes[pair.second],
                     is_seconds(quantity.metric) ? "takes" : "has", pair.ratio,
                     is_seconds(quantity.metric) ? "as long as" : "as many as", c.nodes[pair.first],
                     pair.low < pair.high ? fmt::format(" ({:.2f} to {:.2f})", pair.low, pair.high) : "",
                     quantity_title(quantity), quantity.witness.modelled() ? ", modelled" : "");
}

/// The differences that the values support, the largest first, and how many comparisons show none.
document::List pairs_list(const Comparison& c, std::size_t most) {
  document::List list;
  std::size_t clear = 0, repetitions = 0;
  for (const Pair& pair : c.pairs) {
    const auto& nodes = c.quantities[pair.quantity].nodes;
    repetitions =
        std::max(repetitions, std::min(nodes[pair.first].values.size(), nodes[pair.second].values.size()));
    if (pair.evidence == statistics::Evidence::clear && ++clear <= most)
      list.items.push_back(pair_text(c, pair));
  }
  if (clear > most) list.items.push_back(fmt::format("and {} smaller differences", clear - most));
  if (const std::size_t none = c.pairs.size() - clear; none > 0)
    list.items.push_back(fmt::format("{} no difference that {} could tell from noise",
                                     base::format_count(none, "comparison shows", "comparisons show"),
                                     base::format_count(repetitions, "repetition")));
  return list;
}

Json quantity_json(const Comparison& c, const Quantity& quantity) {
  Json json{{"kernel", quantity.kernel}, {"witness", quantity.witness}, {"metric", quantity.metric}};
  if (!quantity.unit.empty()) json["unit"] = quantity.unit;
  json["point"] = result::make_json(quantity.point);
  json["points"] = quantity.points;
  json["median"] = quantity.median;
  json["limit"] = or_null(quantity.limit);
  json["nodes"] = Json::array();
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    const NodeQuantity& on = quantity.nodes[node];
    if (!on.listed) continue;
    const bool counted = !on.values.empty();
    Json& one = json["nodes"].emplace_back(Json{{"node", c.nodes[node]}, {"n", on.values.size()}});
    one["median"] = counted ? Json(on.value) : Json();
    if (on.high > on.low) one["interval"] = {on.low, on.high};
    one["ratio"] = or_null(on.ratio);
    one["z"] = on.z && std::isfinite(*on.z) ? Json(*on.z) : Json();
    one["outlier"] = on.outlier;
    if (!counted) one["reason"] = on.reason->text();
  }
  return json;
}

} // namespace

namespace {

/// Leaves `most` rows and names the others.
void shorten(show::Table& table, std::size_t most) {
  if (table.rows.size() <= most) return;
  const std::size_t more = table.rows.size() - most;
  table.rows.resize(most);
  table.add({fmt::format("{} more", more)});
}

/// "1.120 ?" where the interval overlaps that of another node; "-": none.
std::string ratio_text(const Quantity& quantity, const NodeQuantity& on) {
  if (!on.ratio) return "-";
  const bool unsure =
      on.low < on.high && std::ranges::any_of(quantity.nodes, [&](const NodeQuantity& other) {
        return &other != &on && !other.values.empty() && other.low <= on.high && on.low <= other.high;
      });
  return fmt::format("{:.3f}{}", *on.ratio, on.outlier ? " *" : unsure ? " ?" : "");
}

/// The quantities over all points and those with an outlier, with the ratios of few nodes side by side.
show::Table ratios_table(const Comparison& c) {
  constexpr std::size_t few = 4;
  show::Table table({{""}}, "Ratio to the median of all");
  for (const std::string& node : c.nodes)
    table.columns.push_back({node, show::Role::number});
  for (const Quantity& quantity : c.quantities) {
    if (c.nodes.size() > few) break; // the outliers are named
    if (c.quantities.size() > few && quantity.points == 1 && !quantity.has_outlier()) continue;
    std::vector<show::Cell> row{quantity_title(quantity)};
    for (const NodeQuantity& on : quantity.nodes)
      row.emplace_back(ratio_text(quantity, on));
    table.add(std::move(row));
  }
  return table;
}
} // namespace

std::vector<Block> comparison_blocks(const Comparison& c, std::size_t most) {
  auto outliers = findings_table(c), differences = differences_table(c), ratios = ratios_table(c);
  for (show::Table* const table : {&outliers, &differences, &ratios})
    shorten(*table, most);
  std::vector<Block> blocks;
  if (!c.findings.empty())
    blocks.emplace_back(std::move(outliers));
  else if (c.nodes.size() >= statistics::min_nodes)
    blocks.emplace_back(document::Paragraph{"No outlier."});
  if (!c.pairs.empty()) blocks.emplace_back(pairs_list(c, std::min<std::size_t>(most, 8)));
  blocks.emplace_back(document::Paragraph{basis_text(c)});
  if (!differences.rows.empty()) blocks.emplace_back(std::move(differences));
  if (!ratios.rows.empty()) blocks.emplace_back(std::move(ratios));
  return blocks;
}

std::string screen_text(const Comparison& c, std::size_t columns) {
  const std::string more =
      command::wrap("?: intervals overlap. More: -a (every quantity), --json", columns, 2) + "\n";
  for (std::size_t most = 12;; --most) {
    const std::string text = command::document_text(comparison_blocks(c, most), columns) + more;
    if (most == 1 ||
        static_cast<std::size_t>(std::ranges::count(text, '\n')) <= command::screen_lines(columns))
      return text;
  }
}

std::vector<Block> comparison_tables(const Comparison& c) {
  std::vector<Block> blocks;
  if (!c.findings.empty()) blocks.emplace_back(findings_table(c));
  if (!c.differences.empty()) blocks.emplace_back(differences_table(c));
  blocks.emplace_back(quantities_table(c));
  return blocks;
}

std::string comparison_json(const Comparison& c) {
  Json json{{"by", c.by}, {"nodes", c.nodes}, {"least_nodes", statistics::min_nodes}};
  json["differences"] = Json::array();
  json["outliers"] = make_array(c.findings, [&](const Finding& finding) {
    return Json{{"node", c.nodes[finding.node]}, {"in", finding.subject}, {"text", finding.text}};
  });
  for (const Difference& difference : c.differences) {
    Json& one = json["differences"].emplace_back(Json{{"fact", difference.name}});
    for (std::size_t node = 0; node < c.nodes.size(); ++node)
      one["values"][c.nodes[node]] = difference.values[node];
  }
  json["quantities"] = make_array(c.quantities, [&](const Quantity& q) { return quantity_json(c, q); });
  json["pairs"] = make_array(c.pairs, [&](const Pair& pair) {
    return Json{{"first", c.nodes[pair.first]},
                {"second", c.nodes[pair.second]},
                {"in", quantity_title(c.quantities[pair.quantity])},
                {"ratio", pair.zero ? Json() : Json(pair.ratio)},
                {"interval", pair.zero ? Json() : Json{pair.low, pair.high}},
                {"differs", pair.evidence == statistics::Evidence::clear}};
  });
  json["on_one_node_only"] = c.on_one_node;
  return json_text("compare", json);
}

namespace {

constexpr std::size_t max_panels = 4, max_names = 8;

/// Those with an outlier first; of one kernel, witness and metric one alone.
std::vector<const Quantity*> drawn_quantities(const Comparison& c) {
  std::vector<const Quantity*> drawn;
  std::set<std::string> subjects;
  for (const bool outlier : {true, false})
    for (const Quantity& quantity : c.quantities)
      if (quantity.has_outlier() == outlier && quantity.median != 0 && quantity.count() > 1 &&
          drawn.size() < max_panels && subjects.insert(subject_name(quantity)).second)
        drawn.push_back(&quantity);
  return drawn;
}

/// All names where they are few, else those of outliers; without the domain where that leaves them distinct.
std::vector<std::string> axis_names(const Comparison& c, const Quantity& quantity) {
  std::vector<std::string> names;
  for (const std::string& node : c.nodes)
    names.push_back(node.substr(0, node.find('.')));
  if (std::set(names.begin(), names.end()).size() < names.size()) names = c.nodes;
  std::size_t named = 0;
  for (std::size_t node = 0; node < names.size() && c.nodes.size() > max_names; ++node)
    if (!quantity.nodes[node].outlier || ++named > max_names) names[node].clear();
  return names;
}

plot::Panel make_panel(const Comparison& c, const Quantity& quantity) {
  plot::Panel panel;
  panel.title = quantity_title(quantity);
  panel.y_title = "ratio to the median";
  panel.x_along = plot::Panel::Along::names;
  panel.x_names = axis_names(c, quantity);
  for (const bool outlier : {false, true}) {
    plot::Series series;
    series.look = plot::Series::Look::points;
    series.band = true;
    series.modelled = quantity.witness.modelled();
    series.label = outlier ? "outlier" : quantity.has_outlier() ? "others" : "";
    for (std::size_t node = 0; node < c.nodes.size(); ++node) {
      const NodeQuantity& on = quantity.nodes[node];
      if (!on.ratio || on.outlier != outlier) continue;
      const auto [low, high] = std::minmax({on.low / quantity.median, on.high / quantity.median});
      series.samples.push_back({static_cast<double>(node + 1), *on.ratio, low, high});
    }
    if (!series.samples.empty()) panel.series.push_back(std::move(series));
  }
  return panel;
}

} // namespace

plot::Sheet compose_nodes(const Comparison& c, const result::Results& results) {
  plot::Sheet sheet;
  sheet.name = "nodes";
  for (const Quantity* quantity : drawn_quantities(c))
    sheet.panels.push_back(make_panel(c, *quantity));
  if (sheet.panels.empty())
    throw bad_input("figure nodes", "no metric has values on two nodes",
                    "use results of the same points on several machines");
  sheet.caption.push_back(fmt::format("{} nodes, bars: 95 % intervals", c.nodes.size()));
  std::ranges::move(plot::machine_names(results), std::back_inserter(sheet.caption));
  return sheet;
}

plot::Figure nodes_figure(MachineProperties inferred) {
  const CompareOptions options{.inferred = std::move(inferred)};
  return {{"nodes", "each metric on several machines, relative to their median",
           "results of the same points on two machines or more"},
          [=](const auto& results, const auto&) { return compose_nodes(compare(results, options), results); },
          [=](const auto& results, const auto& choice) {
            return choice.metrics.empty() && choice.witnesses.empty() && several_nodes(results) &&
                   !compare(results, options).quantities.empty();
          }};
}

document::Section compare_section(MachineProperties inferred) {
  const CompareOptions options{.inferred = std::move(inferred)};
  return {"machines", [=](const document::Material& material) {
            std::vector<Block> blocks;
            if (!several_nodes(material.results)) return blocks;
            const Comparison comparison = compare(material.results, options);
            if (comparison.quantities.empty()) return blocks;
            blocks = comparison_blocks(comparison);
            const document::Part all{"", false, document::unowned(material.results)};
            material.gallery.add(blocks, "nodes", all);
            return document::under("Machines compared", std::move(blocks));
          }};
}

} // namespace recount::compare
