#include "matmul/figures_series.hpp"

#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace recount::matmul {
namespace {

using Groups = std::vector<Products>;
using Points = std::vector<std::pair<double, Product>>;

/// Products of doubles in blocks, by n.
std::map<std::int64_t, Points> blocks_by_size(const Products& group) {
  std::map<std::int64_t, Points> sizes;
  for (const auto& [product, metrics] : group.of)
    if (product.element == "f64" && product.block > 0 && product.build.empty())
      sizes[product.n].emplace_back(static_cast<double>(product.block), product);
  return sizes;
}

Product line_at(std::int64_t n) {
  Product line;
  line.variant = "ikj";
  line.element = "f64";
  line.n = n;
  return line;
}

/// The first group of a machine: a figure of blocks has curves by n, another machine would be too much.
const Products* machine_of(const Groups& groups) {
  const auto at = std::ranges::find(groups, false, &Products::published);
  return at == groups.end() ? nullptr : &*at;
}

plot::Panel block_panel(const std::string& y_title, std::size_t sizes) {
  plot::Panel panel;
  panel.x_title = "rows per block";
  panel.y_title = y_title;
  panel.x_along = plot::Panel::Along::settings;
  panel.ordered = sizes > 7;
  return panel;
}

/// A curve for each n, and `line` without blocks as a level.
void add_blocks(ProductSheet& sheet, plot::Panel& panel, const Products& group,
                const PlottedValueOf& value_of) {
  const auto sizes = blocks_by_size(group);
  int colour = 0;
  for (const auto& [n, points] : sizes) {
    plot::Series series;
    series.label = fmt::format("block, n = {}", n);
    series.linetype = sizes.size() == 1 ? linetype_of(points.front().second) : ++colour;
    const int own = series.linetype;
    sheet.add(panel, std::move(series), group, points, value_of);
    plot::Series line;
    line.label = fmt::format("line, n = {}", n);
    line.linetype = sizes.size() == 1 ? linetype_of(line_at(n)) : own;
    if (sizes.size() > 1) line.look = plot::Series::Look::level;
    const Points ends{{points.front().first, line_at(n)}, {points.back().first, line_at(n)}};
    sheet.add(panel, std::move(line), group, ends, value_of);
  }
}

PlottedValue no_band(double y, const std::string& witness) {
  return {y, y, y, witness};
}

/// Short names for the tics of an axis.
std::string short_name(const Product& product) {
  if (product.variant == "ijk-mem") return "straight";
  if (product.variant == "transposed") return product.transposes ? "transp.+copy" : "transposed";
  return loops_name(product);
}

/// A limit at some x, as a thin line.
plot::Series level_of(const std::string& label, const std::vector<double>& xs,
                      const std::function<double(double)>& at) {
  plot::Series level;
  level.look = plot::Series::Look::level;
  level.label = level.compact = label;
  for (const double x : xs)
    level.samples.push_back({x, at(x), at(x), at(x)});
  return level;
}

/// What the measured peak rates allow from one intensity to another: those of operations, and those of bytes
/// of the levels behind L2, up to the highest ceiling of operations.
std::vector<plot::Series> ceilings_of(const Products& group, double from, double to) {
  std::vector<plot::Series> levels;
  double top = 0;
  for (const auto& ceiling : group.ceilings)
    if (!ceiling.bandwidth) top = std::max(top, ceiling.rate / 1e9);
  for (const auto& ceiling : group.ceilings) {
    const double rate = ceiling.rate / 1e9;
    if (!ceiling.bandwidth) {
      levels.push_back(level_of(fmt::format("{} {:.3g} GFLOP/s", ceiling.name, rate), {from, to},
                                [=](double) { return rate; }));
    } else if (ceiling.name != "L1d" && ceiling.name != "L2" && top > 0 && top / rate > from) {
      levels.push_back(level_of(fmt::format("{} {:.3g} GB/s", ceiling.name, rate),
                                {from, std::min(to, top / rate)}, [=](double x) { return rate * x; }));
    }
  }
  return levels;
}

} // namespace

void blocks_figure(ProductSheet& sheet, const Groups& groups) {
  const Products* const group = machine_of(groups);
  if (!group) return;
  plot::Panel panel = block_panel("GFLOP/s", blocks_by_size(*group).size());
  add_blocks(sheet, panel, *group, gflops_value);
  if (panel.series.empty() || panel.series.front().samples.size() < 2) return;
  sheet.finish(std::move(panel), "blocked products of doubles", 2);
}

void block_misses_figure(ProductSheet& sheet, const Groups& groups) {
  const Products* const group = machine_of(groups);
  if (!group) return;
  for (const char* level : {"1", "2"}) {
    plot::Panel panel =
        block_panel(fmt::format("L{} misses (millions)", level), blocks_by_size(*group).size());
    panel.y_decades = true;
    add_blocks(sheet, panel, *group, metric_value(fmt::format("PAPI_L{}_DCM", level), 1e-6));
    if (panel.series.empty() || panel.series.front().samples.size() < 2) continue;
    sheet.finish(std::move(panel), fmt::format("PAPI_L{}_DCM", level), 2);
  }
}

void lab_figure(ProductSheet& sheet, const Groups& groups) {
  const Products* const group = machine_of(groups);
  if (!group) return;
  std::vector<Product> steps;
  for (const auto& [product, metrics] : group->of)
    if (product.element == "i16" && product.build.empty() && (steps.empty() || steps.front().n == product.n))
      steps.push_back(product);
  const auto course = [](const Product& p) {
    return p.variant == "ijk-mem" ? 0 : p.variant == "transposed" ? 1 : 2;
  };
  std::ranges::stable_sort(steps, {}, course);
  if (steps.size() < 2 || steps.front().variant != "ijk-mem") return;
  plot::Panel rates, speed;
  Points points;
  for (const Product& step : steps) {
    points.emplace_back(static_cast<double>(points.size() + 1), step);
    rates.x_names.push_back(short_name(step));
  }
  rates.x_along = plot::Panel::Along::names;
  rates.y_is_share = true;
  speed = rates;
  rates.y_title = "hit rate";
  speed.y_title = "speed-up over straight";
  speed.y_is_share = false;
  const auto add = [&](plot::Panel& panel, const std::string& label, const PlottedValueOf& value_of) {
    plot::Series series;
    series.label = label;
    series.look = plot::Series::Look::points;
    sheet.add(panel, std::move(series), *group, points, value_of);
  };
  const std::string subject = fmt::format("16-bit integers, n = {}", steps.front().n);
  add(rates, "L1", derived_value("L1_HIT_RATE"));
  add(rates, "L2", derived_value("L2_HIT_RATE"));
  sheet.finish(std::move(rates), subject, 2);
  const Product first = steps.front();
  add(speed, "", [&](const Products& g, const Product& p) -> std::optional<PlottedValue> {
    if (p == first) {
      const auto time = metric_value("seconds", 1)(g, p);
      return time ? std::optional(no_band(1, time->witness)) : std::nullopt;
    }
    return speed_up_value(g, p, first);
  });
  sheet.finish(std::move(speed), subject, 2);
}

void roofline_figure(ProductSheet& sheet, const Groups& groups) {
  const Products* const group = machine_of(groups);
  if (!group || group->ceilings.empty()) return;
  plot::Panel panel;
  panel.x_title = "operations per byte read into L2";
  panel.y_title = "GFLOP/s";
  panel.x_along = plot::Panel::Along::number;
  panel.y_decades = true;
  double least = 0.1, most = 100;
  std::string witness;
  for (const char* variant : {"ijk", "ikj", "blocked"}) {
    Points points;
    Product loops;
    for (const auto& [product, metrics] : group->of) {
      if (product.element != "f64" || product.variant != variant || !product.build.empty()) continue;
      const auto x = derived(*group, product, "INTENSITY");
      if (!x) continue;
      loops = product;
      witness = x->witness;
      points.emplace_back(x->value, product);
      least = std::min(least, x->value / 2);
      most = std::max(most, x->value * 2);
    }
    plot::Series series;
    loops.block = 0;
    series.label = loops_name(loops);
    series.look = plot::Series::Look::points;
    series.linetype = linetype_of(loops);
    sheet.add(panel, std::move(series), *group, points, gflops_value);
  }
  if (panel.series.empty()) return;
  for (plot::Series& level : ceilings_of(*group, least, most))
    panel.series.push_back(std::move(level));
  sheet.remarks.push_back("intensity from L2 misses, " + base::format_witness(witness));
  sheet.remarks.emplace_back("grey: measured peak rates");
  sheet.finish(std::move(panel), "products of doubles", 1);
}

} // namespace recount::matmul
