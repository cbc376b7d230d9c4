#include "matmul/matmul_figures.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "matmul/derived.hpp"
#include "plot/select.hpp"
#include "plot/sheet.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

// Building blocks of the figures of matrix products.
namespace recount::matmul {

/// A value with its band and its witness.
struct PlottedValue {
  double y = 0, low = 0, high = 0;
  Witness witness;
  std::size_t n = 1, flagged = 0; ///< repetitions behind it
};
using PlottedValueOf = std::function<std::optional<PlottedValue>(const Products&, const Product&)>;

/// The statistic of a metric times a factor, with its interval.
[[nodiscard]] PlottedValueOf metric_value(const std::string& metric, double factor,
                                          const Witness& witness = {});
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
  std::set<std::string> machines_;
  std::set<Witness> witnesses_; ///< behind the panels; those of the one being gathered
  std::size_t least_ = 0, most_ = 0, measured_ = 0, flagged_ = 0;
  bool modelled_ = false;
  statistics::Statistic statistic_ = statistics::Statistic::median;
};

// Figures of matrix products against the size of a block, of the laboratory, and the roofline.
void blocks_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void block_misses_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void lab_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void roofline_figure(ProductSheet& sheet, const std::vector<Products>& groups);

// Figures of matrix products against their size.
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

PlottedValue no_band(double y, const Witness& witness) {
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
  Witness witness;
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

namespace {

struct ColourRow {
  const char *variant, *build;
  int linetype;
};
constexpr std::array colour_rows{ColourRow{"ijk", "", 1},           ColourRow{"ikj", "", 2},
                                 ColourRow{"blocked", "", 3},       ColourRow{"ikj", "Java", 4},
                                 ColourRow{"ikj", "vectorised", 5}, ColourRow{"ijk", "Java", 6},
                                 ColourRow{"dgemm", "", 7}};

/// The CPU of a group, as in the caption.
std::string machine_text(const Products& group) {
  if (!group.run) return group.machine;
  return group.published ? "published: " + group.run->host : plot::machine_name(*group.run);
}

std::optional<PlottedValue> plotted(const std::optional<Quantity>& quantity) {
  if (!quantity) return {};
  const std::size_t n = quantity->compared > 0 ? quantity->compared : quantity->values.size();
  return PlottedValue{
      quantity->value,  quantity->low, quantity->high, quantity->witness, std::max<std::size_t>(1, n),
      quantity->flagged};
}

} // namespace

PlottedValueOf metric_value(const std::string& metric, double factor, const Witness& witness) {
  return [=](const Products& group, const Product& product) -> std::optional<PlottedValue> {
    const auto at = group.of.find(product);
    if (at == group.of.end()) return {};
    const auto value = central(at->second, metric, witness);
    return value ? plotted(scaled(*value, factor)) : std::nullopt;
  };
}

std::optional<PlottedValue> gflops_value(const Products& group, const Product& product) {
  return plotted(derived(group, product, "GFLOPS"));
}

PlottedValueOf derived_value(const std::string& name) {
  return
      [=](const Products& group, const Product& product) { return plotted(derived(group, product, name)); };
}

std::optional<PlottedValue> speed_up_value(const Products& group, const Product& product,
                                           const Product& other) {
  return plotted(compare(group, product, other).by_time);
}

int linetype_of(const Product& loops) {
  const auto* const row = std::ranges::find_if(
      colour_rows, [&](const ColourRow& r) { return r.variant == loops.variant && r.build == loops.build; });
  return row == colour_rows.end() ? 0 : row->linetype;
}

std::vector<Product> in_order(std::vector<Product> loops) {
  const auto rank = [](const Product& p) {
    const int variant = p.variant == "ijk" ? 0 : p.variant == "ikj" ? 1 : p.variant == "blocked" ? 2 : 3;
    return std::tuple(p.build.empty() ? 0 : 1, variant, p.block, p.build);
  };
  std::ranges::stable_sort(loops, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return loops;
}

void ProductSheet::add(plot::Panel& panel, plot::Series series, const Products& group,
                       const std::vector<std::pair<double, Product>>& points,
                       const PlottedValueOf& value_of) {
  bool here = false; // else a described machine alone answers, which the title names
  for (const auto& [x, product] : points) {
    const auto value = value_of(group, product);
    if (!value) continue;
    series.samples.push_back({x, value->y, value->low, value->high});
    series.band = series.band || value->high > value->low;
    series.modelled = series.modelled || value->witness.modelled();
    witnesses_.insert(value->witness);
    statistic_ = group.statistic;
    here = here || !value->witness.described_machine() || value->witness.detail.starts_with("host");
    if (value->witness.modelled()) {
      modelled_ = true;
      continue;
    }
    least_ = measured_ == 0 ? value->n : std::min(least_, value->n);
    most_ = std::max(most_, value->n);
    measured_ += value->n;
    flagged_ += value->flagged;
  }
  if (series.samples.empty()) return;
  std::ranges::sort(series.samples, {}, &plot::Sample::x);
  if (series.compact.empty()) series.compact = series.label;
  if (here) machines_.insert(machine_text(group));
  panel.series.push_back(std::move(series));
}

void ProductSheet::finish(plot::Panel panel, const std::string& subject, std::size_t least) {
  const bool enough =
      std::ranges::any_of(panel.series, [&](const plot::Series& s) { return s.samples.size() >= least; });
  std::vector<std::string> who;
  for (const auto& witness : witnesses_) { // a machine without a part is named by its curve
    const Witness whole(witness.kind, witness.detail.substr(0, witness.detail.find('~')));
    if (whole == witness || !witnesses_.contains(whole)) who.push_back(base::format_witness(witness));
  }
  witnesses_.clear();
  if (!enough) return;
  panel.title = fmt::format("{}, {}", subject, fmt::join(who, " and "));
  // Each colour once: those without one of their own take what is left.
  std::set<int> taken;
  for (const plot::Series& series : panel.series)
    taken.insert(series.linetype);
  int next = 1;
  for (plot::Series& series : panel.series) {
    if (series.linetype > 0 || panel.ordered || series.look == plot::Series::Look::level) continue;
    while (taken.contains(next) && next < 7)
      ++next;
    series.linetype = next;
    taken.insert(next);
  }
  sheet_.panels.push_back(std::move(panel));
}

plot::Sheet ProductSheet::made() {
  if (sheet_.panels.empty()) return std::move(sheet_);
  sheet_.caption.assign(machines_.begin(), machines_.end());
  if (most_ == 1) sheet_.caption.emplace_back("single values");
  if (most_ > 1)
    for (auto& text : plot::statistic_texts(statistic_, least_, most_))
      sheet_.caption.push_back(std::move(text));
  if (modelled_) sheet_.caption.push_back(plot::modelled_text(sheet_, measured_ > 0));
  if (flagged_ > 0) {
    sheet_.caption.insert(sheet_.caption.begin(), plot::disturbed_text(flagged_, measured_));
    sheet_.warnings.push_back(sheet_.caption.back());
  }
  sheet_.caption.insert(sheet_.caption.end(), remarks.begin(), remarks.end());
  return std::move(sheet_);
}

} // namespace recount::matmul
