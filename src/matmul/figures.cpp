// Figures of matrix products against their size.
#include "matmul/figures.hpp"

#include "base/format.hpp"
#include "matmul/figures_series.hpp"
#include "plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace recount::matmul {
namespace {

using Groups = std::vector<Products>;
using Points = std::vector<std::pair<double, Product>>;

/// Which loops a curve is drawn of.
using Wanted = bool (*)(const Product& loops);

bool any_loops(const Product& loops) {
  return loops.element == "f64" && loops.block == 0;
}
bool plain_loops(const Product& loops) {
  return any_loops(loops) && loops.build.empty() && loops.variant != "dgemm";
}

Points points_of(const Products& group, const Product& loops) {
  Points points;
  for (const auto n : group.sizes(loops))
    points.emplace_back(static_cast<double>(n), at_size(loops, n));
  return points;
}

std::string label_of(const Products& group, const Product& loops, bool several) {
  std::string name = loops_name(loops);
  if (loops.build.empty() && loops.variant != "dgemm" && several) name += ", " + group.machine;
  return name;
}

plot::Panel size_panel(const std::string& y_title) {
  plot::Panel panel;
  panel.x_title = "rows of the matrices, n";
  panel.y_title = y_title;
  panel.x_along = plot::Panel::Along::settings;
  return panel;
}

/// A curve for each loops of each machine.
void add_loops(ProductSheet& sheet, plot::Panel& panel, const Groups& groups, Wanted wanted,
               const PlottedValueOf& value_of) {
  const bool several = std::ranges::count(groups, false, &Products::published) > 1;
  for (const Products& group : groups) {
    if (group.published) continue;
    for (const Product& loops : in_order(group.loops()))
      if (wanted(loops)) {
        plot::Series series;
        series.label = label_of(group, loops, several);
        series.linetype = several ? 0 : linetype_of(loops);
        sheet.add(panel, std::move(series), group, points_of(group, loops), value_of);
      }
  }
}

void time_figure(ProductSheet& sheet, const Groups& groups) {
  plot::Panel panel = size_panel("time (s)");
  panel.y_decades = true;
  add_loops(sheet, panel, groups, any_loops, metric_value("seconds", 1));
  sheet.finish(std::move(panel), "products of doubles", 2);
}

void gflops_figure(ProductSheet& sheet, const Groups& groups) {
  plot::Panel panel = size_panel("GFLOP/s");
  panel.y_decades = true; // vectors and the library are many times faster
  add_loops(sheet, panel, groups, any_loops, gflops_value);
  sheet.finish(std::move(panel), "products of doubles", 2);
}

void misses_figure(ProductSheet& sheet, const Groups& groups) {
  for (const char* level : {"1", "2"}) {
    plot::Panel panel = size_panel(fmt::format("L{} misses (millions)", level));
    panel.y_decades = true;
    add_loops(sheet, panel, groups, plain_loops, metric_value(fmt::format("PAPI_L{}_DCM", level), 1e-6));
    sheet.finish(std::move(panel), fmt::format("PAPI_L{}_DCM", level), 2);
  }
}

void hit_rates_figure(ProductSheet& sheet, const Groups& groups) {
  for (const char* level : {"1", "2"}) {
    plot::Panel panel = size_panel(fmt::format("L{} hit rate", level));
    panel.y_is_share = true;
    add_loops(sheet, panel, groups, plain_loops, derived_value(fmt::format("L{}_HIT_RATE", level)));
    sheet.finish(std::move(panel), fmt::format("hit rate of L{}", level), 2);
  }
}

/// How many times faster than `simple` in plain C++ at the same size.
void speed_up_figure(ProductSheet& sheet, const Groups& groups) {
  plot::Panel panel = size_panel("speed-up over simple");
  panel.y_decades = true;
  const auto over_simple = [](const Products& group, const Product& product) -> std::optional<PlottedValue> {
    Product simple = product;
    simple.variant = "ijk";
    simple.build.clear();
    simple.block = 0;
    return product == simple ? std::nullopt : speed_up_value(group, product, simple);
  };
  add_loops(sheet, panel, groups, any_loops, over_simple);
  sheet.finish(std::move(panel), "by time, over simple at the same size", 2);
}

/// Modelled over published L1 misses: on a logarithmic axis of the counts themselves a factor of 1.5 is
/// hardly seen.
PlottedValueOf over_published(const Products& published, const std::string& model) {
  return [&published, model](const Products& group, const Product& product) -> std::optional<PlottedValue> {
    auto ratio = metric_value("PAPI_L1_DCM", 1, model)(group, product);
    const auto stated = metric_value("PAPI_L1_DCM", 1)(published, product);
    if (!ratio || !stated || stated->y <= 0) return {};
    for (double* part : {&ratio->y, &ratio->low, &ratio->high})
      *part /= stated->y;
    return ratio;
  };
}

/// A curve for each plain loops of a table, and for the straightforward ones without the TLB.
void add_ratios(ProductSheet& sheet, const Products& published, const Groups& groups,
                const std::string& model) {
  plot::Panel panel = size_panel("model / published");
  for (const Products& group : groups)
    for (const Product& loops : in_order(published.loops())) {
      if (group.published || !plain_loops(loops)) continue;
      plot::Series series;
      series.label = loops_name(loops);
      series.linetype = linetype_of(loops);
      sheet.add(panel, series, group, points_of(published, loops), over_published(published, model));
      if (loops.variant != "ijk") continue;
      series.label = loops_name(loops) + " without TLB";
      series.compact = "no TLB";
      series.linetype = 0;
      sheet.add(panel, series, group, points_of(published, loops),
                over_published(published, model + "~no-tlb"));
    }
  sheet.finish(std::move(panel), "PAPI_L1_DCM", 2);
}

/// A published table and the model of its machine, with and without the TLB; below, the ratio of both.
void published_figure(ProductSheet& sheet, const Groups& groups) {
  bool solid = false;
  for (const Products& published : groups) {
    if (!published.published || !published.run) continue;
    plot::Panel panel = size_panel("L1 misses (millions)");
    panel.y_decades = true;
    const auto machine = published.run->versions.find("machine");
    const std::string model = machine == published.run->versions.end() ? "" : "model:" + machine->second;
    for (const Product& loops : in_order(published.loops())) {
      if (!plain_loops(loops)) continue;
      plot::Series series;
      series.label = loops_name(loops);
      series.linetype = linetype_of(loops);
      const std::size_t before = panel.series.size();
      sheet.add(panel, series, published, points_of(published, loops), metric_value("PAPI_L1_DCM", 1e-6));
      const bool named = panel.series.size() > before;
      solid = solid || named;
      if (model.empty()) continue;
      for (const Products& group : groups) {
        if (group.published) continue;
        if (named) series.label = ""; // dashed, next to the published curve
        sheet.add(panel, series, group, points_of(published, loops),
                  metric_value("PAPI_L1_DCM", 1e-6, model));
        if (loops.variant != "ijk") continue;
        series.label = loops_name(loops) + " without TLB";
        series.compact = "no TLB";
        series.linetype = 0;
        sheet.add(panel, series, group, points_of(published, loops),
                  metric_value("PAPI_L1_DCM", 1e-6, model + "~no-tlb"));
      }
    }
    sheet.finish(std::move(panel), "PAPI_L1_DCM", 2);
    if (!model.empty()) add_ratios(sheet, published, groups, model);
  }
  if (solid) sheet.remarks.emplace_back("solid: published");
}

struct FigureOfProducts {
  plot::Entry entry;
  void (*compose)(ProductSheet&, const Groups&);
};

const std::vector<FigureOfProducts>& product_table() {
  const std::string sizes = "products of doubles at two sizes or more (recount matmul)";
  static const std::vector<FigureOfProducts> rows{
      {{"matmul-time", "time of matrix products against their size, every language and build",
        "times (witness clock) of " + sizes},
       time_figure},
      {{"matmul-gflops", "operations per second of matrix products against their size",
        "times (witness clock) of " + sizes},
       gflops_figure},
      {{"matmul-misses", "L1 and L2 misses of matrix products against their size",
        "PAPI_L1_DCM or PAPI_L2_DCM (witness perf, papi or model) of " + sizes},
       misses_figure},
      {{"matmul-hit-rates", "L1 and L2 hit rates of matrix products against their size",
        "misses and accesses (witness perf, papi or model) of " + sizes},
       hit_rates_figure},
      {{"matmul-speed-up", "speed-up of matrix products over simple against their size",
        "times (witness clock) of simple and another product, of " + sizes},
       speed_up_figure},
      {{"matmul-blocks", "operations per second of blocked products, compared with line",
        "times (witness clock) of blocked products of doubles with two block sizes or more (recount matmul)"},
       blocks_figure},
      {{"matmul-block-misses", "L1 and L2 misses of blocked products against block size",
        "PAPI_L1_DCM or PAPI_L2_DCM of blocked products of doubles with two block sizes or more (recount "
        "matmul)"},
       block_misses_figure},
      {{"matmul-lab",
        "the laboratory's products of 16-bit integers: hit rates, and speed-ups over the straightforward one",
        "products of 16-bit integers (recount matmul --study lab)"},
       lab_figure},
      {{"matmul-roofline",
        "products under the measured peak rates of the machine: operations per second against "
        "operations per byte read into L2",
        "ceilings, times and L2 misses of products of doubles (recount matmul --study report)"},
       roofline_figure},
      {{"matmul-published", "published misses compared with the model of their machine",
        "a published table (recount matmul --published)"},
       published_figure},
  };
  return rows;
}

} // namespace

plot::Sheet compose_products(const std::string& name, const result::Results& results,
                             const plot::Choice& choice) {
  result::Results chosen;
  if (!choice.witnesses.empty()) {
    chosen.runs = results.runs;
    chosen.statistic = results.statistic;
    std::ranges::copy_if(results.observations, std::back_inserter(chosen.observations), [&](const auto& o) {
      return std::ranges::find(choice.witnesses, o.witness) != choice.witnesses.end();
    });
  }
  const Groups groups = matmul::products(choice.witnesses.empty() ? results : chosen);
  ProductSheet sheet(name);
  for (const auto& row : product_table())
    if (row.entry.name == name && !groups.empty()) row.compose(sheet, groups);
  return sheet.made();
}

std::vector<plot::Figure> product_figures() {
  std::vector<plot::Figure> figures;
  for (const auto& row : product_table()) {
    const plot::Entry& entry = row.entry;
    figures.push_back({entry,
                       [&entry](const auto& results, const auto& choice) {
                         plot::Sheet sheet = compose_products(entry.name, results, choice);
                         if (sheet.panels.empty())
                           throw bad_input("figure " + entry.name,
                                           "the results have " + plot::inventory(results),
                                           "this figure needs " + entry.needs);
                         return sheet;
                       },
                       [&entry](const auto& results, const auto& choice) {
                         return !compose_products(entry.name, results, choice).panels.empty();
                       }});
  }
  return figures;
}

} // namespace recount::matmul
