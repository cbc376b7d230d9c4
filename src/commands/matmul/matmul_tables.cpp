#include "commands/matmul/matmul_tables.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/witness.hpp"
#include "commands/matmul/derived.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/map.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace recount::matmul {
namespace {

using document::Block;
using Products = std::vector<Product>;

/// Of the tables of times by size.
constexpr const char *times_caption = "Time of the product (s)",
                     *cpu_times_caption = "CPU time of the product (s)";

const std::vector<KeyColumn> size_key{{"n", size_text}};
const std::vector<KeyColumn> loops_key{{"", loops_name}};

Products select(const ProductGroup& group, const std::function<bool(const Product&)>& wanted) {
  return group.products | ranges::views::keys | ranges::views::filter(wanted) | ranges::to<Products>();
}

Side with_variant(const char* variant) {
  return [variant](const Product& product) { return product.with_variant(variant); };
}

/// A metric of the product of a row.
Measure of_metric(std::string label, const char* name, std::string (*format)(double)) {
  return {std::move(label), metric(name), format, false, {}, name};
}

/// A metric of some loops and how its column is labelled after their name.
struct ByLoops {
  const char* suffix;
  const char* metric;
  std::string (*format)(double);
};

/// One row per size, one column per metric and loops.
void add_by_size(std::vector<Block>& blocks, const ProductGroup& group, const std::string& caption,
                 const Products& loops, const Products& sizes, const std::vector<ByLoops>& metrics) {
  std::vector<Measure> measures;
  for (const ByLoops& by : metrics)
    for (const Product& one : loops)
      measures.push_back({loops_name(one) + by.suffix, metric(by.metric), by.format, false, one, by.metric});
  add_table(blocks, group, caption, size_key, sizes, measures);
}

std::string per_thousand(double share) {
  return base::format_number(1000 * share);
}

void add_blocked(std::vector<Block>& blocks, const ProductGroup& group) {
  const Products blocked =
      select(group, [](const Product& p) { return p.element == "f64" && p.block > 0 && p.build.empty(); });
  const std::vector<KeyColumn> keys{{"n", size_text}, {"block", block_text}};
  const auto line = comparisons(with_variant("ikj"));
  std::vector<Measure> times{of_metric("time (s)", "seconds", base::format_number),
                             of_metric("GFLOP/s", "GFLOPS", base::format_number)},
      misses{of_metric("L1 misses", "PAPI_L1_DCM", base::format_millions),
             of_metric("L2 misses", "PAPI_L2_DCM", base::format_millions),
             of_metric("L1 hit rate", "L1_HIT_RATE", base::format_share),
             of_metric("L2 hit rate", "L2_HIT_RATE", base::format_share)};
  for (const Measure& measure : line)
    if (measure.format == format_factor)
      times.push_back(measure);
    else if (measure.label.starts_with("L1 "))
      misses.push_back(measure);
  add_table(blocks, group, "Blocked products: speed-up over line at the same size", keys, blocked, times);
  add_table(blocks, group, "Blocked products: misses (10^6) and hit rates", keys, blocked, misses);
}

void add_ceilings(std::vector<Block>& blocks, const ProductGroup& group) {
  show::Table table({{""}, show::number("rate")},
                    "Measured peak rates of this machine: best repetition, by the clock");
  for (const auto& ceiling : group.ceilings) {
    show::Datum& datum = table.data.emplace_back();
    datum.keys = {{"machine", group.machine}, {"level", ceiling.name}};
    datum.quantity = ceiling.bandwidth ? "read bandwidth" : "multiplications and additions";
    datum.statistic = "maximum";
    datum.value = ceiling.rate;
    datum.unit = ceiling.bandwidth ? "B/s" : "FLOP/s";
    datum.witness = Witness(Witness::clock).name();
    table.rows.push_back(
        {ceiling.bandwidth          ? fmt::format("read bandwidth of an array of {} in {}",
                                                  base::format_bytes(ceiling.size), ceiling.name)
         : ceiling.name == "vector" ? "multiplications and additions, widest vectors"
                                    : "multiplications and additions, scalar",
         fmt::format("{:.1f} {}{}", ceiling.rate / 1e9, ceiling.bandwidth ? "GB/s" : "GFLOP/s",
                     ceiling.disturbed ? " *" : "")});
  }
  if (std::ranges::any_of(group.ceilings, &CeilingRate::disturbed))
    table.notes.emplace_back("*: disturbed, so the peak may be higher.");
  if (!table.rows.empty()) blocks.emplace_back(std::move(table));
}

} // namespace

std::vector<Block> doubles_tables(const ProductGroup& group) {
  std::vector<Block> blocks;
  const Products doubles = select(group, [](const Product& p) { return p.element == "f64"; });
  if (doubles.empty()) return blocks;
  const auto unblocked = [](const Product& p) { return p.element == "f64" && p.block == 0; };
  const auto plain = [&](const Product& p) {
    return unblocked(p) && p.build.empty() && p.variant != "dgemm";
  };
  const Products loops = group.loops();
  const auto every = loops | ranges::views::filter(unblocked) | ranges::to<Products>();
  const auto counted = loops | ranges::views::filter(plain) | ranges::to<Products>();
  std::set<std::int64_t> numbers;
  for (const Product& product : doubles)
    if (product.block == 0) numbers.insert(product.n);
  const auto sizes = numbers | ranges::views::transform([](std::int64_t n) { return Product().at_size(n); }) |
                     ranges::to<Products>();
  const auto table = [&](const char* caption, const Products& of, const std::vector<ByLoops>& metrics) {
    add_by_size(blocks, group, caption, of, sizes, metrics);
  };
  table(times_caption, every, {{"", "seconds", base::format_number}});
  table(cpu_times_caption, every, {{"", "cpu_seconds", base::format_number}});
  table("GFLOP/s, of 2 n^3 operations", every, {{"", "GFLOPS", base::format_number}});
  if (std::ranges::any_of(doubles, [&](const Product& p) {
        const auto elapsed = seconds(group, p);
        return elapsed && count_disturbed(elapsed->processes) > 0;
      }))
    table("GFLOP/s by CPU time, of 2 n^3 operations", every, {{"", "GFLOPS_CPU", base::format_number}});
  table("Data-cache misses (10^6)", counted,
        {{": L1", "PAPI_L1_DCM", base::format_millions}, {": L2", "PAPI_L2_DCM", base::format_millions}});
  table("Hit rates", counted,
        {{": L1", "L1_HIT_RATE", base::format_share}, {": L2", "L2_HIT_RATE", base::format_share}});
  table("Misses per 1000 operations, and arithmetic intensity (operations per byte read into L2)", counted,
        {{": L1 misses", "L1_PER_FLOP", per_thousand},
         {": L2 misses", "L2_PER_FLOP", per_thousand},
         {": intensity", "INTENSITY", base::format_number}});
  table("Instructions per cycle", counted, {{"", "IPC", base::format_number}});
  add_table(blocks, group, "line compared with simple", size_key,
            select(group, [&](const Product& p) { return plain(p) && p.variant == "ikj"; }),
            comparisons(with_variant("ijk")));
  add_blocked(blocks, group);
  add_ceilings(blocks, group);
  return blocks;
}

namespace {

/// The numbers of each of the tables of the laboratory.
const std::vector<Measure>& laboratory_measures() {
  static const std::vector<Measure> measures{
      of_metric("L1 misses (10^6)", "PAPI_L1_DCM", base::format_millions),
      of_metric("loads + stores (10^6)", "LST", base::format_millions),
      {"cycles (10^6)", core_cycles, base::format_millions, false, {}, "PAPI_TOT_CYC"},
      {"TSC cycles (10^6)", tsc_cycles, base::format_millions, false, {}, "tsc_cycles"},
      of_metric("elapsed time (s)", "seconds", base::format_number),
      of_metric("CPU time (s)", "cpu_seconds", base::format_number),
      of_metric("L1 hit rate", "L1_HIT_RATE", base::format_share),
      of_metric("L2 hit rate", "L2_HIT_RATE", base::format_share),
      of_metric("L2 misses (10^6)", "PAPI_L2_DCM", base::format_millions)};
  return measures;
}

/// The captions of the tables of one step (1 to 3) of a size; of the comparison of a blocked product (4).
std::string laboratory_caption(int step, std::int64_t n, const std::string& loops = {}) {
  const std::string titles[] = {
      "1. Straightforward product, i, j, k with the sum in memory",
      "2. Transposed product, i, j, k over a transposed copy of b, the sum in memory",
      "3. Blocked product, i, k, j inside square blocks of one line",
      "4. " + loops + " compared with the transposed product"};
  return fmt::format("{}; n = {}", titles[step - 1], n);
}

/// The products of one size of the laboratory.
struct Laboratory {
  Product first;
  std::vector<Product> transposed, blocked;
};

std::vector<Laboratory> laboratories(const ProductGroup& group) {
  std::vector<Laboratory> all;
  for (const auto& [first, metrics] : group.products) {
    if (first.element != "i16" || first.variant != "ijk-mem" || !first.build.empty()) continue;
    Laboratory& one = all.emplace_back();
    one.first = first;
    for (const auto& [p, of] : group.products)
      if (p.element == first.element && p.n == first.n && p.build.empty()) {
        if (p.variant == "transposed") one.transposed.push_back(p);
        if (p.variant == "blocked") one.blocked.push_back(p);
      }
  }
  return all;
}

/// The tables of one size, in the steps of the laboratory.
void add_laboratory(std::vector<Block>& blocks, const ProductGroup& group, const Laboratory& lab) {
  const auto& [first, transposed, blocked] = lab;
  const auto bytes = first.n * first.n * first.element_bytes();
  blocks.emplace_back(
      document::Paragraph{fmt::format("Matrices are {0} x {0} of {1}-byte integers: {2} bytes ({3}) each, "
                                      "{4} elements per line of {5} bytes.",
                                      first.n, first.element_bytes(), bytes, base::format_bytes(bytes),
                                      group.line() / first.element_bytes(), group.line())});
  const auto add = [&](const std::string& caption, const Products& products,
                       const std::vector<Measure>& measures) {
    add_table(blocks, group, caption, loops_key, products, measures, Direction::across);
  };
  auto measures = laboratory_measures();
  add(laboratory_caption(1, first.n), {first}, measures);
  for (Measure& measure : comparisons(with_variant("ijk-mem"), " vs 1"))
    measures.push_back(std::move(measure));
  add(laboratory_caption(2, first.n), transposed, measures);
  add(laboratory_caption(3, first.n), blocked, measures);
  for (const Product& product : blocked)
    add(laboratory_caption(4, first.n, loops_name(product)), transposed,
        comparisons([](const Product& p) { return p; }, "", [&](const Product&) { return product; }));
  const auto plain = [](const Product& p) { return p.with_build(""); };
  const Products vectorised = select(group, [&](const Product& p) {
    return p.element == first.element && p.n == first.n && p.build == "vectorised";
  });
  add(fmt::format("5. The same loops built with {}; n = {}",
                  group.version("vectorised_flags", "-O3 -march=native"), first.n),
      vectorised,
      {of_metric("elapsed time (s)", "seconds", base::format_number),
       of_metric("L1 misses (10^6)", "PAPI_L1_DCM", base::format_millions),
       comparisons(plain, " over the plain build")[0]});
}

} // namespace

std::vector<Block> laboratory_tables(const ProductGroup& group) {
  std::vector<Block> blocks;
  for (const Laboratory& lab : laboratories(group))
    add_laboratory(blocks, group, lab);
  return blocks;
}

namespace {

std::string value_text(const std::string& metric, double value) {
  return metric.ends_with("seconds") ? base::format_number(value) : fmt::format("{:.0f}", value);
}

/// Each repetition, and what they come to.
void add_repetitions(std::vector<show::Datum>& data, const std::string& machine, const Product& product,
                     const Metrics::value_type& entry) {
  const auto& [witness, metric] = entry.first;
  const Repetitions& all = entry.second;
  show::Datum datum{product_keys(product), metric};
  datum.keys.insert(datum.keys.begin(), {"machine", machine});
  datum.witness = witness.name();
  datum.unit = is_seconds(metric) ? "s" : "";
  datum.statistic = "value";
  datum.keys.emplace_back("repetition", "");
  datum.repetitions = 1;
  for (const Repeated& one : all.values) {
    datum.keys.back().second = std::to_string(one.process.repetition + 1);
    datum.value = one.value;
    datum.disturbed = one.disturbances.empty() ? 0 : 1;
    data.push_back(datum);
  }
  if (all.values.size() < 2) return;
  const statistics::Summary& s = *all.summary;
  datum.keys.back().second.clear();
  datum.statistic = statistics::name_of(s.statistic);
  datum.value = s.value;
  datum.repetitions = all.values.size();
  datum.disturbed = all.disturbed();
  if (s.statistic == statistics::Statistic::median) {
    datum.low = s.low;
    datum.high = s.high;
  }
  data.push_back(std::move(datum));
}

/// Each repetition, an empty cell for those that are missing, and what they come to.
std::vector<std::string> repetition_cells(const Repetitions& all, const std::string& metric,
                                          std::size_t most) {
  std::vector<std::string> cells;
  for (const Repeated& one : all.values)
    cells.push_back(value_text(metric, one.value) + (one.disturbances.empty() ? "" : "*"));
  cells.resize(most);
  if (most < 2) return cells;
  const statistics::Summary& s = *all.summary;
  cells.push_back(value_text(metric, s.value));
  if (s.statistic == statistics::Statistic::median)
    cells.push_back(fmt::format("{} to {}", value_text(metric, s.low), value_text(metric, s.high)));
  return cells;
}

show::Table values_table(std::string caption, const std::vector<std::string>& heads) {
  show::Table table({show::key_words("product"), show::key_number("n"), show::key_words("metric"),
                     show::key_words("witness")},
                    std::move(caption));
  for (const std::string& head : heads)
    table.columns.push_back(show::number(head));
  return table;
}

/// Every value of every repetition, with its statistic and interval.
std::vector<Block> all_values(const ProductGroup& group) {
  std::size_t most = 0; // repetitions of anything that was measured
  for (const auto& [product, metrics] : group.products)
    for (const auto& [key, all] : metrics)
      if (!key.first.modelled()) most = std::max(most, all.values.size());
  const std::string statistic = statistics::name_of(group.statistic);
  std::vector<std::string> heads;
  for (std::size_t i = 0; i < most; ++i)
    heads.push_back(most > 1 ? std::to_string(i + 1) : "value");
  if (most > 1) heads.push_back(statistic);
  if (most > 1 && group.statistic == statistics::Statistic::median) heads.emplace_back("95 % interval");
  show::Table measured =
      values_table(most > 1 ? "All repetitions and their " + statistic : "All values", heads);
  show::Table modelled =
      values_table("All modelled values (median of the draws of placement, if there are several)", {"value"});
  std::set<std::string> disturbed; // repetitions, with the causes
  for (const auto& [product, metrics] : group.products)
    for (const auto& entry : metrics) {
      const Repetitions& all = entry.second;
      if (!all.summary) continue;
      const auto& [witness, metric] = entry.first;
      show::Table& table = witness.modelled() ? modelled : measured;
      auto& row = table.rows.emplace_back();
      row = {loops_name(product), size_text(product), metric, witness.name()};
      add_repetitions(table.data, group.machine, product, entry);
      const auto cells = witness.modelled() ? std::vector{value_text(metric, all.summary->value)}
                                            : repetition_cells(all, metric, most);
      row.insert(row.end(), cells.begin(), cells.end());
      for (const Repeated& one : all.values)
        if (!one.disturbances.empty())
          disturbed.insert(fmt::format(
              "{}, n = {}, repetition {} ({})", loops_name(product), product.n, one.process.repetition + 1,
              fmt::join(one.disturbances | ranges::views::transform(&Flag::text), ", ")));
    }
  if (!disturbed.empty())
    measured.notes.push_back(fmt::format("* more than {} % of the time lost: {}.", result::disturbed_percent,
                                         fmt::join(disturbed, "; ")));
  std::vector<Block> blocks;
  for (show::Table* table : {&measured, &modelled})
    if (!table->rows.empty()) blocks.emplace_back(std::move(*table));
  return blocks;
}

std::string format_ratio(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

/// Of a published value and the predicted range: -1 below, 0 inside, 1 above.
std::string format_place(double place) {
  return place < 0 ? "below" : place > 0 ? "above" : "inside";
}

/// Nothing where the prediction is one value.
std::optional<Quantity> place_in_range(const std::optional<Quantity>& model,
                                       const std::optional<Quantity>& published) {
  if (!model || !published || model->low == model->high) return {};
  return Quantity{published->value < model->low    ? -1.0
                  : published->value > model->high ? 1.0
                                                   : 0.0,
                  model->witness};
}

/// A table compared with the values of the same products by `model`, and with the times of a machine here.
void add_published(std::vector<Block>& blocks, const ProductGroup& table,
                   const std::vector<ProductGroup>& all, const Witness& model) {
  const auto holder = std::ranges::find_if(all, [&](const auto& g) { return g.has_witness(model); });
  const ProductGroup& modelled = holder == all.end() ? table : *holder;
  const auto by = [&](const Witness& witness, const char* name) -> QuantityOf {
    return [&modelled, quantity = metric(name, witness)](const auto&, const Product& p) {
      return quantity(modelled, p);
    };
  };
  const QuantityOf here = [&all](const auto&, const Product& p) -> std::optional<Quantity> {
    for (const ProductGroup& group : all)
      if (!group.published)
        if (const auto own = seconds(group, p)) return own;
    return {};
  };
  const auto over = [](const QuantityOf& a, const QuantityOf& b) -> QuantityOf {
    return [=](const ProductGroup& group, const Product& p) { return ratio(a(group, p), b(group, p)); };
  };
  // The witness of a value tells the columns apart.
  const auto column = [](std::string label, QuantityOf quantity, std::string (*format)(double),
                         std::string name) {
    return Measure{std::move(label), std::move(quantity), format, true, {}, std::move(name)};
  };
  const auto in_range = [&](const std::string& name) {
    return column(
        "published value in the predicted range",
        [model_value = by(model, name.c_str()), value = metric(name)](const ProductGroup& group,
                                                                      const Product& p) {
          return place_in_range(model_value(group, p), value(group, p));
        },
        format_place, name + " in the predicted range: -1 below, 0 inside, 1 above");
  };
  const auto products = table.products | ranges::views::keys | ranges::to<Products>();
  const auto add = [&](const std::string& caption, const std::vector<Measure>& measures) {
    add_table(blocks, table, caption, {{"loops", loops_name}, {"n", size_text}}, products, measures);
  };
  const QuantityOf l1 = metric("PAPI_L1_DCM"), l2 = metric("PAPI_L2_DCM");
  add("L1 data-cache misses (10^6): published, and modelled for " + model.detail,
      {column("published", l1, base::format_millions, "PAPI_L1_DCM"),
       column("model", by(model, "PAPI_L1_DCM"), base::format_millions, "PAPI_L1_DCM"),
       column("model / published", over(by(model, "PAPI_L1_DCM"), l1), format_ratio,
              "PAPI_L1_DCM, model / published"),
       in_range("PAPI_L1_DCM"),
       column("model without TLB / published", over(by(model.with("no-tlb"), "PAPI_L1_DCM"), l1),
              format_ratio, "PAPI_L1_DCM, model without TLB / published")});
  add("L2 data-cache misses (10^6): published, and modelled for loads, stores and page walks",
      {column("published", l2, base::format_millions, "PAPI_L2_DCM"),
       column("model", by(model, "PAPI_L2_DCM"), base::format_millions, "PAPI_L2_DCM"),
       in_range("PAPI_L2_DCM"),
       column("published / published L1", over(l2, l1), format_ratio, "PAPI_L2_DCM / PAPI_L1_DCM")});
  const bool timed_here =
      std::ranges::any_of(products, [&](const Product& p) { return here(table, p).has_value(); });
  add(timed_here ? "Time (s): published, and on this machine" : "Time (s) and GFLOP/s: published",
      {column("published", seconds, base::format_number, "seconds"),
       column("published GFLOP/s", metric("GFLOPS"), base::format_number, "GFLOPS"),
       column("here", here, base::format_number, "seconds"),
       column("published / here", over(seconds, here), format_ratio, "seconds, published / here")});
}

} // namespace

std::vector<Block> published_tables(const std::vector<ProductGroup>& all) {
  std::vector<Block> blocks;
  for (const ProductGroup& table : all) {
    if (!table.published || !table.run) continue;
    blocks.emplace_back(document::Heading{"Published: " + table.version("published"), 2});
    if (const std::string source = table.version("source"); !source.empty())
      blocks.emplace_back(document::Paragraph{source});
    blocks.emplace_back(document::Paragraph{"Published values: " + published_clause(table) + "."});
    const Witness model = table.model_witness();
    add_published(blocks, table, all, model.empty() ? Witness(Witness::model, "unknown") : model);
    if (model.empty())
      blocks.emplace_back(document::Paragraph{
          "Its machine is unknown, so there is no model to compare with: name it with --published-machine."});
  }
  return blocks;
}

namespace {

/// The plain product of these loops of the largest size that was timed; null: none was.
const Product* largest_timed(const ProductGroup& group, const std::string& element,
                             const std::string& variant) {
  const Product* largest = nullptr;
  for (const auto& [product, metrics] : group.products) // by ascending size
    if (product.element == element && product.variant == variant && product.build.empty() &&
        seconds(group, product))
      largest = &product;
  return largest;
}

using document::Answer;

/// How far a value can be relied upon, in the order of the words.
enum class Trust { high, medium, low, modelled };

Trust trust_in(const Quantity& quantity, bool comparison) {
  if (quantity.witness.modelled()) return Trust::modelled;
  if (quantity.repeatable) return Trust::high;
  const std::size_t repetitions = comparison ? quantity.compared : quantity.values.size();
  if (repetitions < statistics::min_compared) return Trust::low;
  return count_disturbed(quantity.processes) > 0 ? Trust::medium : Trust::high;
}

/// The least trust in measured numbers, and whether some are modelled.
std::string confidence_text(std::set<Trust> all) {
  constexpr const char* texts[] = {"high", "medium", "low"};
  const bool modelled = all.erase(Trust::modelled) > 0;
  if (all.empty()) return modelled ? "modelled" : "";
  return texts[static_cast<std::size_t>(*all.rbegin())] + std::string(modelled ? ", partly modelled" : "");
}

/// Collects the numbers of one answer, and why others are missing.
class AnswerText {
public:
  explicit AnswerText(const ProductGroup& group) : group_(group) {}

  /// The number as in its cell; a comparison with its interval. An absent comparison is left out.
  void add(const Measure& measure, const Product& product, const std::string& before = {}) {
    const auto quantity = measure.quantity(group_, product);
    if (!quantity) {
      if (!measure.comparison) missing_[absence_reason(group_, product, measure.name)].insert(measure.label);
    } else if (!quantity->clear()) {
      missing_[reservation(*quantity)].insert(before + measure.label);
    } else {
      const std::string low = measure.format(quantity->low), high = measure.format(quantity->high);
      parts_.push_back(fmt::format("{}{}: {}", before, measure.label, measure.format(quantity->value)) +
                       (measure.comparison && low != high ? fmt::format(" [{}, {}]", low, high) : ""));
      trust_.insert(trust_in(*quantity, measure.comparison));
    }
  }
  [[nodiscard]] Answer answer(std::string question, std::string proof, std::string cells) const {
    Answer answer{std::move(question)};
    answer.value = fmt::format("{}", fmt::join(parts_, "; "));
    std::vector<std::string> reasons;
    for (const auto& [reason, labels] : missing_)
      reasons.push_back(fmt::format("{}: {}", fmt::join(labels, ", "), reason));
    answer.reason = fmt::format("{}", fmt::join(reasons, "; "));
    if (parts_.empty()) return answer;
    answer.proof = std::move(proof);
    answer.cells = std::move(cells);
    answer.confidence = confidence_text(trust_);
    return answer;
  }

private:
  const ProductGroup& group_;
  std::vector<std::string> parts_;
  std::map<std::string, std::set<std::string>> missing_; ///< labels by reason
  std::set<Trust> trust_;
};

Answer answer_sizes(const ProductGroup& group, const Product& first) {
  const auto bytes = first.n * first.n * first.element_bytes();
  return {fmt::format("Size of a matrix, and elements per line; n = {}", first.n),
          fmt::format("{} bytes ({}); {} elements per line of {} bytes", bytes, base::format_bytes(bytes),
                      group.line() / first.element_bytes(), group.line()),
          {},
          {},
          {},
          "computed"};
}

/// Misses, loads and stores, cycles, time and hit rate of one product.
Answer answer_counts(const ProductGroup& group, const Product& product, int step) {
  AnswerText text(group);
  for (const Measure& measure : laboratory_measures())
    if (measure.quantity(group, product) || !measure.name.starts_with("tsc")) text.add(measure, product);
  return text.answer(
      fmt::format("{}. {}: misses, loads and stores, cycles, time, hit rate", step, loops_name(product)),
      laboratory_caption(step, product.n), "column " + loops_name(product));
}

/// `suffix`: of the labels in the table.
Answer answer_comparison(const ProductGroup& group, const Product& product, const Product& reference,
                         int step, const std::string& suffix) {
  AnswerText text(group);
  const auto same = [&](const Product&) { return product; };
  const auto other = [&](const Product&) { return reference; };
  for (const Measure& measure : comparisons(other, suffix, same))
    text.add(measure, product);
  const bool last = step == 4;
  return text.answer(fmt::format("{} against {}: difference in hit rates, speed-up", loops_name(product),
                                 loops_name(reference)),
                     laboratory_caption(step, product.n, loops_name(product)),
                     "column " + loops_name(last ? reference : product));
}

/// The L2 hit rates of both, which may explain why the first is faster.
std::string l2_rates_text(const ProductGroup& group, const Product& product, const Product& reference,
                          const Witness& witness) {
  const auto here = derived(group, product, "L2_HIT_RATE", witness),
             there = derived(group, reference, "L2_HIT_RATE", witness);
  if (!here || !there) return "L2 hit rates were not counted";
  return fmt::format("L2 hit rates {} and {}", base::format_share(here->value),
                     base::format_share(there->value));
}

/// Products that are faster with a lower hit rate of L1, and the hit rates of L2 beside.
Answer answer_faster(const ProductGroup& group, const Laboratory& lab) {
  Answer answer{fmt::format("Faster with a lower L1 hit rate, and why; n = {}", lab.first.n)};
  std::vector<std::string> found;
  std::set<Trust> trust;
  std::size_t compared = 0;
  const auto compare = [&](const Product& product, const Product& reference) {
    const auto time = speed_up(group, product, reference, metric(time_metric(group, product, reference))),
               rate = difference(group, product, reference, "L1_HIT_RATE");
    if (!time || !rate || !time->clear() || !rate->clear()) return;
    ++compared;
    trust.insert({trust_in(*time, true), trust_in(*rate, true)});
    if (time->value > 1 && rate->value < 0)
      found.push_back(fmt::format("{} against {} ({})", loops_name(product), loops_name(reference),
                                  l2_rates_text(group, product, reference, rate->witness)));
  };
  for (const Product& product : lab.transposed)
    compare(product, lab.first);
  for (const Product& product : lab.blocked) {
    compare(product, lab.first);
    for (const Product& reference : lab.transposed)
      compare(product, reference);
  }
  if (compared == 0) {
    answer.reason = "no two products differ clearly both in time and in L1 hit rate";
    return answer;
  }
  answer.value = found.empty()
                     ? fmt::format("no product, of {}", base::format_count(compared, "comparison"))
                     : fmt::format("{}. The section Comments has the share of L2", fmt::join(found, "; "));
  answer.confidence = confidence_text(trust);
  return answer;
}

/// The transposed product with the transposition in the measurement against without.
Answer answer_transposition(const ProductGroup& group, const Laboratory& lab) {
  const std::string question = fmt::format("What including the transposition changes; n = {}", lab.first.n);
  const auto with = std::ranges::find(lab.transposed, true, &Product::transposes);
  const auto without = std::ranges::find(lab.transposed, false, &Product::transposes);
  if (with == lab.transposed.end() || without == lab.transposed.end())
    return {question, {}, "the transposed product was not measured both with and without it"};
  AnswerText text(group);
  for (const Measure& measure : comparisons([&](const Product&) { return *without; }))
    text.add(measure, *with, "with it, ");
  return text.answer(question, laboratory_caption(2, lab.first.n), "both columns");
}

/// The speed-ups of the plain products of an element over those of a variant, at the largest size at which it
/// was timed; nothing where there are none.
std::optional<Answer> answer_speed_ups(const ProductGroup& group, const std::string& element,
                                       const std::string& reference) {
  const Product* const first = largest_timed(group, element, reference);
  if (!first) return {};
  AnswerText text(group);
  bool by_cpu = false;
  for (const auto& [product, metrics] : group.products) {
    if (product.element != element || !product.build.empty() || product.n != first->n || product == *first)
      continue;
    const std::string time = time_metric(group, product, *first);
    by_cpu = by_cpu || time == "cpu_seconds";
    text.add(
        {time == "cpu_seconds" ? "by CPU time" : "by time",
         [&, of = metric(time)](const auto&, const Product& p) { return speed_up(group, p, *first, of); },
         format_factor, true},
        product, loops_name(product) + ", ");
  }
  Answer answer =
      text.answer(fmt::format("Products of {}, n = {}: speed-up over {}",
                              element == "f64" ? "doubles" : "16-bit integers", first->n, loops_name(*first)),
                  by_cpu ? cpu_times_caption : times_caption, fmt::format("row {}", first->n));
  return answer.value.empty() && answer.reason.empty() ? std::nullopt : std::optional(std::move(answer));
}

/// The questions of the laboratory on its products, and the speed-ups of the report's, with the cells that
/// answer them; nothing where a group has neither.
std::vector<Answer> answer_products(const ProductGroup& group) {
  std::vector<Answer> all;
  if (group.published) return all;
  for (const Laboratory& lab : laboratories(group)) {
    all.push_back(answer_sizes(group, lab.first));
    all.push_back(answer_counts(group, lab.first, 1));
    for (const Product& product : lab.transposed)
      all.push_back(answer_counts(group, product, 2));
    for (const Product& product : lab.transposed)
      all.push_back(answer_comparison(group, product, lab.first, 2, " vs 1"));
    all.push_back(answer_transposition(group, lab));
    for (const Product& product : lab.blocked) {
      all.push_back(answer_counts(group, product, 3));
      all.push_back(answer_comparison(group, product, lab.first, 3, " vs 1"));
      for (const Product& reference : lab.transposed)
        all.push_back(answer_comparison(group, product, reference, 4, ""));
    }
    all.push_back(answer_faster(group, lab));
  }
  if (auto answer = answer_speed_ups(group, "f64", "ijk")) all.push_back(std::move(*answer));
  return all;
}

using Blocks = std::vector<document::Block>;

/// A section of tables followed by these figures; nothing without tables.
void add_section(Blocks& blocks, const std::string& title, Blocks tables, const document::Part& part,
                 document::Gallery& gallery, const std::vector<const char*>& figures) {
  if (tables.empty()) return;
  for (const char* figure : figures)
    gallery.add(tables, figure, part);
  document::append(blocks, document::under(title, std::move(tables)));
}

Blocks products_section(const document::Material& material) {
  Blocks blocks;
  const bool several = std::ranges::count(material.parts, false, &document::Part::published) > 1;
  for (const document::Part& part : material.parts) {
    if (part.published) continue;
    const std::string suffix = several ? ": " + part.machine : std::string();
    for (const ProductGroup& group : group_products(*part.results)) {
      add_section(blocks, "Products of 16-bit integers" + suffix, laboratory_tables(group), part,
                  material.gallery, {"matmul-lab"});
      add_section(blocks, "Products of doubles" + suffix, doubles_tables(group), part, material.gallery,
                  {"matmul-time", "matmul-gflops", "matmul-misses", "matmul-hit-rates", "matmul-speed-up",
                   "matmul-blocks", "matmul-block-misses", "matmul-roofline"});
    }
  }
  const auto groups = group_products(material.results);
  add_section(blocks, "Published values compared with the model", published_tables(groups),
              {"", false, document::unowned(material.results)}, material.gallery, {"matmul-published"});
  document::append(blocks, document::under("Comments", remark_blocks(groups)));
  return blocks;
}

Blocks values_section(const document::Material& material) {
  Blocks tables;
  for (const ProductGroup& group : group_products(material.results)) {
    Blocks values = all_values(group);
    for (document::Block& block : values)
      if (auto* table = std::get_if<show::Table>(&block)) table->caption += ": " + group.machine;
    document::append(tables, std::move(values));
  }
  return document::under("All values", std::move(tables));
}

/// One line on all products.
std::vector<std::string> summary(const document::Part& part) {
  std::vector<std::string> all;
  if (part.published) return all;
  for (const ProductGroup& group : group_products(*part.results))
    for (const auto& [element, reference] : {std::pair("i16", "ijk-mem"), {"f64", "ijk"}})
      if (const auto answer = answer_speed_ups(group, element, reference))
        all.push_back(fmt::format(
            "{}: {}{}{}.", answer->question, answer->value,
            answer->value.empty() || answer->reason.empty() ? "" : "; not stated: ", answer->reason));
  if (all.empty()) return all;
  return {fmt::format("{}", fmt::join(all, " "))};
}

std::vector<document::Answer> answers(const document::Part& part) {
  std::vector<document::Answer> all;
  for (const ProductGroup& group : group_products(*part.results))
    for (auto& answer : answer_products(group))
      all.push_back(std::move(answer));
  return all;
}

Blocks method(const result::Results& results) {
  Blocks blocks;
  const auto groups = group_products(results);
  if (std::ranges::all_of(groups, [](const auto& g) { return g.published || g.products.empty(); }))
    return blocks;
  show::Table derived({{""}, {"formula"}}, "Derived quantities; all parts of a ratio come from one witness");
  for (const auto& row : derivations())
    derived.rows.push_back({row.label, fmt::format("{}", fmt::join(row.formulas, ", else "))});
  derived.rows.push_back(
      {"difference in hit rate", "difference from the other product, in percentage points"});
  derived.rows.push_back(
      {"speed-up", "time (or cycles) of the other product / time (or cycles) of this product"});
  blocks.emplace_back(std::move(derived));
  std::map<std::string, std::string> formulas;
  for (const auto& group : groups)
    if (!group.published && group.run) formulas.insert(group.run->presets.begin(), group.run->presets.end());
  show::Table presets({{"preset"}, {"formula"}}, "Presets in terms of native events of this CPU");
  for (const auto& [preset, formula] : formulas)
    presets.rows.push_back({preset, formula});
  if (!presets.rows.empty()) blocks.emplace_back(std::move(presets));
  return blocks;
}

} // namespace

std::vector<document::Section> product_sections() {
  return {{"matrix products", products_section, summary, method, false, answers},
          {"", values_section, {}, {}, true}};
}

} // namespace recount::matmul
