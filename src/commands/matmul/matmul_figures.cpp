#include "commands/matmul/matmul_tables.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "show/plot/layout.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace recount::matmul {
namespace {

using Groups = std::vector<ProductGroup>;
using Points = std::vector<std::pair<double, Product>>; ///< x and what is drawn there

struct ColourRow {
  const char *variant, *build;
  int linetype;
};
constexpr std::array colour_rows{ColourRow{"ijk", "", 1},           ColourRow{"ikj", "", 2},
                                 ColourRow{"blocked", "", 3},       ColourRow{"ikj", "Java", 4},
                                 ColourRow{"ikj", "vectorised", 5}, ColourRow{"ijk", "Java", 6},
                                 ColourRow{"dgemm", "", 7}};

/// The colour of some loops, the same in every figure; 0: none of their own.
int choose_linetype(const Product& loops) {
  const auto* const row = std::ranges::find_if(
      colour_rows, [&](const ColourRow& r) { return r.variant == loops.variant && r.build == loops.build; });
  return row == colour_rows.end() ? 0 : row->linetype;
}

plot::Series make_series(const Product& loops) {
  plot::Series series;
  series.label = loops_name(loops);
  series.linetype = choose_linetype(loops);
  return series;
}

/// The CPU of a group, for the caption.
std::string machine_text(const ProductGroup& group) {
  if (!group.run) return group.machine;
  return group.published ? "published: " + group.run->host : plot::machine_name(*group.run);
}

QuantityOf in_millions(const std::string& name, const Witness& witness = {}) {
  return [quantity = metric(name, witness)](const ProductGroup& group, const Product& product) {
    auto value = quantity(group, product);
    if (value) value = scaled(std::move(*value), 1e-6);
    return value;
  };
}

/// Collects panels and their caption.
class ProductSheet {
public:
  explicit ProductSheet(std::string name) { sheet_.name = std::move(name); }
  /// Points of one curve. Points without a value are omitted; false: there is none.
  bool add(plot::Panel& panel, plot::Series series, const ProductGroup& group, const Points& points,
           const QuantityOf& quantity_of) {
    bool here = false; // else a described machine alone answers, which the title names
    for (const auto& [x, product] : points) {
      const auto quantity = quantity_of(group, product);
      if (!quantity) continue;
      const bool modelled = quantity->witness.modelled();
      series.samples.push_back({x, quantity->value, quantity->low, quantity->high});
      series.band = series.band || quantity->high > quantity->low;
      series.modelled = series.modelled || modelled;
      witnesses_.insert(quantity->witness);
      statistic_ = group.statistic;
      here = here || !modelled || quantity->witness.machine().starts_with("host");
      modelled_ = modelled_ || modelled;
      if (modelled) continue;
      published_ = published_ || quantity->witness == Witness::published;
      if (quantity->witness == Witness::published) continue; // the caption says what they are
      const std::size_t n =
          std::max<std::size_t>(1, quantity->compared > 0 ? quantity->compared : quantity->values.size());
      least_ = most_ == 0 ? n : std::min(least_, n);
      most_ = std::max(most_, n);
      add_processes(processes_, quantity->processes);
    }
    if (series.samples.empty()) return false;
    std::ranges::sort(series.samples, {}, &plot::Sample::x);
    if (series.compact.empty()) series.compact = series.label;
    if (here) machines_.insert(machine_text(group));
    panel.series.push_back(std::move(series));
    return true;
  }
  /// A panel whose title, unless it has one, names its witnesses; omitted when none of its curves has `least`
  /// points.
  void finish(plot::Panel panel, const std::string& subject, std::size_t least = 2) {
    if (panel.title.empty()) panel.title = fmt::format("{}, {}", subject, witnesses_text());
    witnesses_.clear();
    if (std::ranges::none_of(panel.series, [&](const auto& s) { return s.samples.size() >= least; })) return;
    // Those without a colour of their own take shades far apart beside those with one, so that they have the
    // same in all figures, and else the first colours.
    const bool own = std::ranges::any_of(panel.series, [](const auto& s) { return s.linetype > 0; });
    int next = 0;
    for (plot::Series& series : panel.series) {
      if (series.linetype > 0 || panel.ordered || series.look == plot::Series::Look::level) continue;
      series.linetype =
          own || next >= plot::categories ? plot::first_step + 5 * next % plot::steps : 1 + next;
      ++next;
    }
    std::ranges::move(plot::small_multiples(std::move(panel)), std::back_inserter(sheet_.panels));
  }
  /// The panels with their caption.
  [[nodiscard]] plot::Sheet build() {
    if (sheet_.panels.empty()) return std::move(sheet_);
    sheet_.caption.assign(machines_.begin(), machines_.end());
    if (most_ == 1) sheet_.caption.emplace_back("single values");
    if (most_ > 1)
      for (auto& text : plot::statistic_texts(statistic_, least_, most_))
        sheet_.caption.push_back(std::move(text));
    if (plot::cuts_bands(sheet_.panels)) sheet_.caption.emplace_back(plot::cut_bands_text);
    if (modelled_) sheet_.caption.push_back(plot::modelled_text(sheet_, published_ || most_ > 0));
    if (const std::size_t disturbed = count_disturbed(processes_); disturbed > 0) {
      sheet_.caption.insert(sheet_.caption.begin(), plot::disturbed_text(disturbed, processes_.size()));
      sheet_.warnings.push_back(sheet_.caption.front());
    }
    sheet_.caption.insert(sheet_.caption.end(), remarks.begin(), remarks.end());
    return std::move(sheet_);
  }

  /// What it shows, where that is not what its entry says.
  void rename(std::string prose) { sheet_.prose = std::move(prose); }

  /// Pieces of the caption that only this figure has.
  std::vector<std::string> remarks;

private:
  /// Each machine once, whatever parts of it were changed; a machine without a part is named by its curve.
  [[nodiscard]] std::string witnesses_text() const {
    std::vector<std::string> names;
    for (const auto& witness : witnesses_) {
      const std::string machine = witness.detail.substr(0, witness.detail.find('~'));
      const bool several =
          std::ranges::count_if(witnesses_, [&](const Witness& other) {
            return other.kind == witness.kind && other.detail.substr(0, other.detail.find('~')) == machine;
          }) > 1;
      std::string name = base::format_witness(
          several || machine == "host" ? Witness(witness.kind, machine == "host" ? "" : machine) : witness);
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    if (names.size() > 2) return fmt::format("{} and {} more", names.front(), names.size() - 1);
    return fmt::format("{}", fmt::join(names, " and "));
  }

  plot::Sheet sheet_;
  std::set<std::string> machines_;
  std::set<Witness> witnesses_;      ///< of the panel that is being built
  std::size_t least_ = 0, most_ = 0; ///< repetitions
  Processes processes_;
  bool modelled_ = false, published_ = false;
  statistics::Statistic statistic_ = statistics::Statistic::median;
};

// Figures against the size of the matrices.

bool any_loops(const Product& loops) {
  return loops.element == "f64" && loops.block == 0;
}
bool plain_loops(const Product& loops) {
  return any_loops(loops) && loops.build.empty() && loops.variant != "dgemm";
}

Points collect_points(const ProductGroup& group, const Product& loops) {
  Points points;
  for (const auto n : group.sizes(loops))
    points.emplace_back(static_cast<double>(n), loops.at_size(n));
  return points;
}

plot::Panel size_panel(const std::string& y_title) {
  plot::Panel panel;
  panel.x_title = "rows of the matrices, n";
  panel.y_title = y_title;
  panel.x_along = plot::Panel::Along::settings;
  return panel;
}

/// A panel with a curve for each loops of each machine.
struct SizePanel {
  const char *figure, *y_title, *subject;
  bool (*wanted)(const Product& loops);
  QuantityOf quantity;
  bool share = false; ///< 0 to 1; else logarithmic, since vectors and the library are many times faster
};

/// How many times faster than `simple` in plain C++ at the same size.
std::optional<Quantity> speed_up_over_simple(const ProductGroup& group, const Product& product) {
  const Product simple = product.with_build("").with_variant("ijk");
  return product == simple ? std::nullopt : comparison(group, product, simple, "seconds").quantity;
}

plot::Panel size_panel(const SizePanel& row) {
  plot::Panel panel = size_panel(row.y_title);
  panel.y_is_share = row.share;
  panel.y_decades = !row.share;
  return panel;
}

const std::vector<SizePanel>& size_panels() {
  static const std::vector<SizePanel> rows{
      {"matmul-time", "time (s)", "products of doubles", any_loops, metric("seconds")},
      {"matmul-gflops", "GFLOP/s", "products of doubles", any_loops, metric("GFLOPS")},
      {"matmul-misses", "L1 misses (millions)", "L1 data-cache misses", plain_loops,
       in_millions("PAPI_L1_DCM")},
      {"matmul-misses", "L2 misses (millions)", "L2 data-cache misses", plain_loops,
       in_millions("PAPI_L2_DCM")},
      {"matmul-hit-rates", "L1 hit rate", "hit rate of L1", plain_loops, metric("L1_HIT_RATE"), true},
      {"matmul-hit-rates", "L2 hit rate", "hit rate of L2", plain_loops, metric("L2_HIT_RATE"), true},
      {"matmul-speed-up", "speed-up over simple", "by time, over simple at the same size", any_loops,
       speed_up_over_simple}};
  return rows;
}

void size_figure(ProductSheet& sheet, const Groups& groups, const std::string& figure) {
  const bool several = std::ranges::count(groups, false, &ProductGroup::published) > 1;
  for (const SizePanel& row : size_panels()) {
    if (row.figure != figure) continue;
    std::size_t curves = 0;
    for (const ProductGroup& group : groups)
      curves +=
          group.published ? 0 : static_cast<std::size_t>(std::ranges::count_if(group.loops(), row.wanted));
    // Machines share a panel where their curves are few.
    const bool together = several && curves <= plot::max_curves;
    plot::Panel panel = size_panel(row);
    for (const ProductGroup& group : groups) {
      for (const Product& loops : group.published ? std::vector<Product>() : group.loops()) {
        if (!row.wanted(loops)) continue;
        plot::Series series = make_series(loops);
        if (together) series.linetype = 0;
        if (together && loops.build.empty() && loops.variant != "dgemm") series.label += ", " + group.machine;
        sheet.add(panel, std::move(series), group, collect_points(group, loops), row.quantity);
      }
      if (several && !together) sheet.finish(std::exchange(panel, size_panel(row)), group.machine);
    }
    sheet.finish(std::move(panel), row.subject);
  }
}

// A published table and the model of its machine.

/// Modelled over published L1 misses: on a logarithmic axis of the counts themselves a factor of 1.5 is
/// hardly seen.
QuantityOf over_published(const ProductGroup& published, const Witness& model) {
  return [&published, model](const ProductGroup& group, const Product& product) {
    const auto reference = published.quantity(product, "PAPI_L1_DCM");
    auto value = group.quantity(product, "PAPI_L1_DCM", model);
    if (value && reference && reference->value > 0)
      return std::optional(scaled(*value, 1 / reference->value));
    return std::optional<Quantity>();
  };
}

/// The model's curves of some loops of a table, for simple without the TLB as well. `label`: of the first.
void add_model(ProductSheet& sheet, plot::Panel& panel, const Groups& groups, const ProductGroup& published,
               const Product& loops, const std::string& label,
               const std::function<QuantityOf(const Witness& model)>& quantity_by) {
  const auto model = published.model_witness();
  for (const ProductGroup& group : groups) {
    if (group.published || model.empty()) continue;
    plot::Series series = make_series(loops);
    series.label = label;
    sheet.add(panel, series, group, collect_points(published, loops), quantity_by(model));
    if (loops.variant != "ijk") continue;
    series.label = loops_name(loops) + " without TLB";
    series.compact = "no TLB";
    series.linetype = 0;
    sheet.add(panel, series, group, collect_points(published, loops), quantity_by(model.with("no-tlb")));
  }
}

/// Above the counts, below the ratio of both.
void published_figure(ProductSheet& sheet, const Groups& groups, const std::string&) {
  bool solid = false, modelled = false;
  for (const ProductGroup& published : groups) {
    if (!published.published) continue;
    plot::Panel counts = size_panel("L1 misses (millions)"), ratios = size_panel("model / published");
    counts.y_decades = true;
    for (const Product& loops : published.loops()) {
      if (!plain_loops(loops)) continue;
      const bool named = sheet.add(counts, make_series(loops), published, collect_points(published, loops),
                                   in_millions("PAPI_L1_DCM"));
      solid = solid || named;
      // Dashed, next to the published curve.
      add_model(sheet, counts, groups, published, loops, named ? "" : loops_name(loops),
                [](const auto& model) { return in_millions("PAPI_L1_DCM", model); });
    }
    modelled = modelled || std::ranges::any_of(counts.series, &plot::Series::modelled);
    sheet.finish(std::move(counts), "L1 data-cache misses");
    sheet.remarks.push_back("published: " + published_clause(published));
    for (const Product& loops : published.loops())
      if (plain_loops(loops))
        add_model(sheet, ratios, groups, published, loops, loops_name(loops),
                  [&](const auto& model) { return over_published(published, model); });
    sheet.finish(std::move(ratios), "L1 data-cache misses");
  }
  if (solid) sheet.remarks.insert(sheet.remarks.begin(), "solid: published");
  if (!modelled) sheet.rename("published misses");
}

/// By how much the model exceeds the published L1 misses, in percent of these: in a ratio, a percent is not
/// seen.
QuantityOf percent_off(const ProductGroup& published, const Witness& model) {
  return [ratio_of = over_published(published, model)](const ProductGroup& group, const Product& product) {
    auto ratio = ratio_of(group, product);
    if (ratio)
      for (double* const value : {&ratio->value, &ratio->low, &ratio->high})
        *value = 100 * (*value - 1);
    return ratio;
  };
}

/// Each group of a published table as points, a panel for each microarchitecture that the table states.
void field_figure(ProductSheet& sheet, const Groups& groups, const std::string&) {
  std::map<std::string, std::vector<const ProductGroup*>> by_core;
  for (const ProductGroup& group : groups)
    if (const std::string core = group.published ? group.version("microarchitecture") : std::string();
        !core.empty() && !core.ends_with('?') && !group.model_witness().empty())
      by_core[core].push_back(&group);
  for (const auto& [core, published] : by_core) {
    plot::Panel panel = size_panel("model off by (%)");
    panel.title = fmt::format("{}, {}", core, base::format_count(published.size(), "group"));
    for (const char* variant : {"ijk", "ikj"}) {
      bool named = false;
      for (const ProductGroup* const one : published)
        for (const ProductGroup& modelled : groups) {
          const Product loops{variant, "", "f64", 0, 0};
          plot::Series series = make_series(loops);
          if (named) series.label.clear();
          series.look = plot::Series::Look::points;
          if (!modelled.published &&
              sheet.add(panel, std::move(series), modelled, collect_points(*one, loops),
                        percent_off(*one, one->model_witness())))
            named = true;
        }
    }
    sheet.finish(std::move(panel), core);
  }
  sheet.remarks.emplace_back("published: medians of the repetitions of each group, or its only values");
}

// Figures of one machine: another one would be too much.

const ProductGroup* first_machine(const Groups& groups) {
  const auto at = std::ranges::find(groups, false, &ProductGroup::published);
  return at == groups.end() ? nullptr : &*at;
}

/// Products of doubles in blocks, by n.
std::map<std::int64_t, Points> blocks_by_size(const ProductGroup& group) {
  std::map<std::int64_t, Points> sizes;
  for (const auto& [product, metrics] : group.products)
    if (product.element == "f64" && product.block > 0 && product.build.empty())
      sizes[product.n].emplace_back(static_cast<double>(product.block), product);
  return sizes;
}

/// A curve for each n against the size of a block, and `line` without blocks as a level of its colour.
void add_block_panel(ProductSheet& sheet, const ProductGroup& group, const std::string& y_title,
                     const std::string& subject, const QuantityOf& quantity) {
  const auto sizes = blocks_by_size(group);
  plot::Panel panel;
  panel.x_title = "rows per block";
  panel.y_title = y_title;
  panel.x_along = plot::Panel::Along::settings;
  panel.ordered = sizes.size() > 1;
  panel.y_decades = subject.ends_with("misses");
  int place = 0;
  bool dotted = false;
  for (const auto& [n, points] : sizes) {
    const int shade = place++ * (plot::steps - 1) / std::max(1, static_cast<int>(sizes.size()) - 1);
    const Product line = points.front().second.with_variant("ikj");
    plot::Series block = make_series(points.front().second), level = make_series(line);
    block.label = fmt::format("block, n = {}", n);
    level.label = fmt::format("line, n = {}", n);
    if (panel.ordered) {
      block.linetype = level.linetype = plot::first_step + shade;
      level.look = plot::Series::Look::level;
    }
    sheet.add(panel, std::move(block), group, points, quantity);
    dotted = sheet.add(panel, std::move(level), group,
                       {{points.front().first, line}, {points.back().first, line}}, quantity) ||
             dotted;
  }
  if (dotted && panel.ordered) panel.x_title += "; dotted: line, without blocks";
  if (!dotted) sheet.rename("blocked products against block size");
  if (!panel.series.empty() && panel.series.front().samples.size() > 1)
    sheet.finish(std::move(panel), subject);
}

void blocks_figure(ProductSheet& sheet, const Groups& groups, const std::string& figure) {
  const ProductGroup* const group = first_machine(groups);
  if (!group) return;
  if (figure == "matmul-blocks")
    return add_block_panel(sheet, *group, "GFLOP/s", "blocked products of doubles", metric("GFLOPS"));
  for (const char* level : {"1", "2"}) {
    add_block_panel(sheet, *group, fmt::format("L{} misses (millions)", level),
                    fmt::format("L{} data-cache misses", level),
                    in_millions(fmt::format("PAPI_L{}_DCM", level)));
  }
}

/// Short names for the tics of an axis.
std::string short_name(const Product& product) {
  if (product.variant == "ijk-mem") return "straight";
  if (product.variant == "transposed") return product.transposes ? "transp.+copy" : "transposed";
  return loops_name(product);
}

void lab_figure(ProductSheet& sheet, const Groups& groups, const std::string&) {
  const ProductGroup* const group = first_machine(groups);
  if (!group) return;
  plot::Panel rates, factors;
  Points points;
  for (const auto& [product, metrics] : group->products)
    if (product.element == "i16" && product.build.empty() && product.variant != "ijk" &&
        (points.empty() || points.front().second.n == product.n)) {
      points.emplace_back(static_cast<double>(points.size() + 1), product);
      rates.x_names.push_back(short_name(product));
    }
  if (points.size() < 2 || points.front().second.variant != "ijk-mem") return;
  const Product first = points.front().second;
  rates.x_along = plot::Panel::Along::names;
  factors = rates;
  rates.y_title = "hit rate";
  rates.y_is_share = true;
  factors.y_title = "speed-up over straight";
  const auto add = [&](plot::Panel& panel, const std::string& label, const QuantityOf& quantity) {
    plot::Series series;
    series.label = label;
    series.look = plot::Series::Look::points;
    sheet.add(panel, std::move(series), *group, points, quantity);
  };
  const std::string subject = fmt::format("16-bit integers, n = {}", first.n);
  add(rates, "L1", metric("L1_HIT_RATE"));
  add(rates, "L2", metric("L2_HIT_RATE"));
  sheet.finish(std::move(rates), subject);
  add(factors, "", [&](const ProductGroup& g, const Product& p) -> std::optional<Quantity> {
    if (p != first) return comparison(g, p, first, "seconds").quantity;
    auto time = quantity(g, p, "seconds");
    if (time) time->value = time->low = time->high = 1;
    return time;
  });
  sheet.finish(std::move(factors), subject);
}

/// What the measured peak rates allow from one intensity to another: those of operations, and those of bytes
/// of the levels behind L2, up to the highest ceiling of operations.
std::vector<plot::Series> ceiling_levels(const ProductGroup& group, double from, double to) {
  double top = 0;
  for (const auto& ceiling : group.ceilings)
    if (!ceiling.bandwidth) top = std::max(top, ceiling.rate / 1e9);
  std::vector<plot::Series> levels;
  for (const auto& ceiling : group.ceilings) {
    const double rate = ceiling.rate / 1e9, end = ceiling.bandwidth ? std::min(to, top / rate) : to;
    if (ceiling.bandwidth && (ceiling.name == "L1d" || ceiling.name == "L2" || top <= 0 || end <= from))
      continue;
    plot::Series level;
    level.look = plot::Series::Look::level;
    level.label = level.compact =
        fmt::format("{} {:.3g} {}", ceiling.name, rate, ceiling.bandwidth ? "GB/s" : "GFLOP/s");
    for (const double x : {from, end}) {
      const double y = ceiling.bandwidth ? rate * x : rate;
      level.samples.push_back({x, y, y, y});
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

void roofline_figure(ProductSheet& sheet, const Groups& groups, const std::string&) {
  const ProductGroup* const group = first_machine(groups);
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
    for (const auto& [product, metrics] : group->products) {
      if (product.element != "f64" || product.variant != variant || !product.build.empty()) continue;
      const auto x = quantity(*group, product, "INTENSITY");
      if (!x) continue;
      witness = x->witness;
      points.emplace_back(x->value, product);
      least = std::min(least, x->value / 2);
      most = std::max(most, x->value * 2);
    }
    if (points.empty()) continue;
    plot::Series series = make_series(points.front().second.with_variant(variant));
    series.look = plot::Series::Look::points;
    sheet.add(panel, std::move(series), *group, points, metric("GFLOPS"));
  }
  if (panel.series.empty()) return;
  std::ranges::move(ceiling_levels(*group, least, most), std::back_inserter(panel.series));
  sheet.remarks.push_back("intensity from L2 misses, " + base::format_witness(witness));
  sheet.remarks.emplace_back("grey: measured peak rates");
  sheet.finish(std::move(panel), "products of doubles", 1);
}

struct FigureOfProducts {
  plot::Entry entry;
  void (*compose)(ProductSheet&, const Groups&, const std::string& name);
};

bool has_series(const plot::Sheet& sheet, const std::function<bool(const plot::Series&)>& wanted) {
  return std::ranges::any_of(
      sheet.panels, [&](const plot::Panel& panel) { return std::ranges::any_of(panel.series, wanted); });
}

const std::vector<FigureOfProducts>& product_table() {
  const std::string sizes = "products of doubles at two sizes or more (recount matmul)";
  static const std::vector<FigureOfProducts> rows{
      {{"matmul-time", "time of matrix products against their size", "times (witness clock) of " + sizes},
       size_figure},
      {{"matmul-gflops", "operations per second of matrix products against their size",
        "times (witness clock) of " + sizes},
       size_figure},
      {{"matmul-misses", "L1 and L2 misses of matrix products against their size",
        "PAPI_L1_DCM or PAPI_L2_DCM (witness perf, papi or model) of " + sizes},
       size_figure},
      {{"matmul-hit-rates", "L1 and L2 hit rates of matrix products against their size",
        "misses and accesses (witness perf, papi or model) of " + sizes},
       size_figure},
      {{"matmul-speed-up", "speed-up of matrix products over simple against their size",
        "times (witness clock) of simple and another product, of " + sizes},
       size_figure},
      {{"matmul-blocks",
        "operations per second of blocked products, compared with line",
        "times (witness clock) of blocked products of doubles with two block sizes or more (recount matmul)",
        {{"compared with line",
          [](const plot::Sheet& s) {
            return has_series(s, [](const auto& one) { return one.label.starts_with("line"); });
          }}}},
       blocks_figure},
      {{"matmul-block-misses", "L1 and L2 misses of blocked products against block size",
        "PAPI_L1_DCM or PAPI_L2_DCM of blocked products of doubles with two block sizes or more (recount "
        "matmul)"},
       blocks_figure},
      {{"matmul-lab",
        "the laboratory's products of 16-bit integers: hit rates, and speed-ups over the straightforward one",
        "products of 16-bit integers (recount matmul --study lab)"},
       lab_figure},
      {{"matmul-roofline",
        "products under the measured peak rates of the machine: operations per second against "
        "operations per byte read into L2",
        "ceilings, times and L2 misses of products of doubles (recount matmul --study report)"},
       roofline_figure},
      {{"matmul-published",
        "published misses compared with the model of their machine",
        "a published table (recount matmul --published)",
        {{"compared with the model",
          [](const plot::Sheet& s) { return has_series(s, &plot::Series::modelled); }}}},
       published_figure},
      {{"matmul-field", "how far modelled L1 misses are off the published ones, group by group",
        "a published table with a column microarchitecture (recount matmul --published)"},
       field_figure},
  };
  return rows;
}

} // namespace

plot::Sheet compose_products(const std::string& name, const result::Results& results,
                             const plot::Choice& choice) {
  const auto chosen = document::only({"", false, document::unowned(results)}, [&](const auto& o) {
    return choice.witnesses.empty() || std::ranges::count(choice.witnesses, o.witness) > 0;
  });
  const Groups groups = group_products(*chosen.results);
  ProductSheet sheet(name);
  for (const auto& row : product_table())
    if (row.entry.name == name && !groups.empty()) row.compose(sheet, groups, name);
  return sheet.build();
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
