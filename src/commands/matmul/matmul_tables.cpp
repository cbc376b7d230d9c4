#include "commands/matmul/matmul_tables.hpp"

#include "base/format.hpp"
#include "show/plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/drop.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/map.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace recount::matmul {
namespace {

using Products = std::vector<Product>;
using Columns = std::vector<Column>;

/// The witness behind a label; empty: the clock, or none.
std::string witness_text(const Fact& fact) {
  return !fact.known() || fact.quantity->witness == Witness::clock ? "" : describe(fact.quantity->witness);
}

/// The cells of a column, and the witness of the first that has a value.
struct Cells {
  const Column& column;
  std::vector<Fact> facts;
  std::string witness = {};
};

std::string label_of(const Cells& cells, bool with_witness) {
  if (cells.witness.empty() || !with_witness || cells.column.plain) return cells.column.label;
  return cells.column.label.empty() ? cells.witness : cells.column.label + ", " + cells.witness;
}

/// Rows become columns; the cells of the first column become the heads.
show::Table turn(const show::Table& table) {
  show::Table turned({show::key_words("")}, table.caption);
  turned.notes = table.notes;
  turned.data = table.data;
  for (const auto& row : table.rows)
    turned.columns.push_back(show::number(row[0].text));
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    auto& cells = turned.rows.emplace_back();
    cells.emplace_back(table.columns[column].head);
    for (const auto& row : table.rows)
      cells.push_back(row[column]);
  }
  return turned;
}

} // namespace

void Page::add_table(const ProductGroup& group, const std::string& caption, const std::vector<Key>& keys,
                     const Products& products, const Columns& columns, Direction direction) {
  std::vector<Cells> filled;
  std::set<std::string> witnesses;
  for (const Column& column : columns) {
    Cells cells{column, {}};
    for (const Product& product : products) {
      cells.facts.push_back(column.fact(group, product));
      if (cells.witness.empty()) cells.witness = witness_text(cells.facts.back());
    }
    if (std::ranges::none_of(cells.facts, &Fact::known)) continue;
    witnesses.insert(cells.witness);
    filled.push_back(std::move(cells));
  }
  if (filled.empty()) return;
  // The caption names the witness of a whole table, except where answers refer to it.
  const bool uniform =
      witnesses.size() == 1 && direction == Direction::down && std::ranges::none_of(columns, &Column::plain);
  show::Table table({},
                    uniform && !witnesses.begin()->empty() ? caption + ", " + *witnesses.begin() : caption);
  for (const Key& key : keys)
    table.columns.push_back(key.text == loops_name ? show::key_words(key.head) : show::key_number(key.head));
  for (const Cells& cells : filled)
    table.columns.push_back(show::number(label_of(cells, !uniform)));
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (std::ranges::all_of(filled, [&](const Cells& cells) {
          return cells.facts[i].absence == "-" || cells.facts[i].absence == ProductGroup::not_run;
        }))
      continue;
    auto& row = table.rows.emplace_back();
    for (const Key& key : keys)
      row.push_back(key.text(products[i]));
    for (Cells& cells : filled) {
      Fact& fact = cells.facts[i];
      const std::string witness = witness_text(fact);
      row.push_back(fact.text());
      if (fact.known() && witness != cells.witness)
        row.back().text += fmt::format(" ({})", describe(fact.quantity->witness));
      if (fact.absence != "-") table.data.push_back(fact.datum());
      shown.push_back({caption, std::move(fact)});
    }
  }
  blocks.emplace_back(direction == Direction::down ? std::move(table) : turn(table));
}

std::vector<document::Block> Page::notes() const {
  check_facts(shown);
  std::string text;
  Processes processes;
  bool unclear = false, repeated = false;
  for (const auto& [place, fact] : shown)
    if (fact.known()) {
      add_processes(processes, fact.quantity->processes);
      unclear = unclear || !fact.clear();
      repeated = repeated || fact.quantity->low < fact.quantity->high;
    }
  if (unclear)
    text +=
        fmt::format("?: not established: the intervals overlap, or fewer than {} repetitions; more (-r 10) "
                    "on a quiet machine may decide. ",
                    statistics::min_compared);
  if (const std::size_t disturbed = count_disturbed(processes); disturbed > 0)
    text += plot::disturbed_text(disturbed, processes.size()) + ". ";
  if (repeated) text += "Intervals are in the CSV files (--export, --format csv) and in --json. ";
  if (text.empty()) return {};
  text.pop_back();
  return {document::Paragraph{text}};
}

namespace {

std::string size_text(const Product& product) {
  return std::to_string(product.n);
}
std::string block_text(const Product& product) {
  return std::to_string(product.block);
}

Products select(const ProductGroup& group, const std::function<bool(const Product&)>& wanted) {
  return group.products | ranges::views::keys | ranges::views::filter(wanted) | ranges::to<Products>();
}

Side with_variant(const char* variant) {
  return [variant](const Product& product) { return product.with_variant(variant); };
}
Product itself(const Product& product) {
  return product;
}

/// A metric of the product of a row, or, with `loops`, of these at its size.
Column of_metric(const std::string& label, const std::string& name,
                 const std::optional<Product>& loops = {}) {
  return {label, [=](const ProductGroup& group, const Product& row) {
            return fact(group, loops ? loops->at_size(row.n) : row, name);
          }};
}

constexpr auto times = {"cpu_seconds", "seconds", "PAPI_TOT_CYC"};
constexpr auto hit_rates = {"L1_HIT_RATE", "L2_HIT_RATE"};

/// Without the speed-up by CPU time, unless a repetition of either side was disturbed.
Fact compare_if_needed(const ProductGroup& group, const Product& product, const Product& reference,
                       const std::string& name) {
  Fact fact = comparison(group, product, reference, name);
  if (name == "cpu_seconds" && time_metric(group, product, reference) == "seconds")
    fact.quantity.reset(), fact.absence = "-";
  return fact;
}

Columns compare_by(std::initializer_list<const char*> names, const Side& reference,
                   const std::string& suffix = {}, const Side& product = itself) {
  Columns columns;
  for (const std::string name : names) {
    const Product any;
    const Fact title = comparison({}, any, any, name);
    columns.push_back({title.name + (title.kind == Kind::points ? " (points)" : "") + suffix,
                       [=](const ProductGroup& group, const Product& row) {
                         return compare_if_needed(group, product(row), reference(row), name);
                       }});
  }
  return columns;
}

Columns joined(Columns a, const Columns& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<Page::Key> size_key{{"n", size_text}}, loops_key{{"", loops_name}},
    block_keys{{"n", size_text}, {"block", block_text}};

/// Of the tables of times by size.
constexpr const char *times_caption = "Time of the product (s)",
                     *cpu_times_caption = "CPU time of the product (s)";

/// Tables with a row per size and a column per loops and metric.
struct BySize {
  const char* caption;
  bool plain; ///< without other builds, languages and the library
  std::vector<std::pair<const char*, const char*>> metrics; ///< suffix of the label, metric
};
const std::vector<BySize>& tables_by_size() {
  static const std::vector<BySize> rows{
      {times_caption, false, {{"", "seconds"}}},
      {cpu_times_caption, false, {{"", "cpu_seconds"}}},
      {"GFLOP/s, of 2 n^3 operations", false, {{"", "GFLOPS"}}},
      {"Data-cache misses (10^6)", true, {{": L1", "PAPI_L1_DCM"}, {": L2", "PAPI_L2_DCM"}}},
      {"Hit rates", true, {{": L1", "L1_HIT_RATE"}, {": L2", "L2_HIT_RATE"}}},
      {"Misses per 1000 operations, and arithmetic intensity (operations per byte read into L2)",
       true,
       {{": L1 misses", "L1_PER_FLOP"}, {": L2 misses", "L2_PER_FLOP"}, {": intensity", "INTENSITY"}}},
      {"Instructions per cycle", true, {{"", "IPC"}}}};
  return rows;
}

bool is_unblocked(const Product& p) {
  return p.element == "f64" && p.block == 0;
}
bool is_plain(const Product& p) {
  return is_unblocked(p) && p.build.empty() && p.variant != "dgemm";
}

void add_by_size(Page& page, const ProductGroup& group, const BySize& table) {
  Columns columns;
  for (const auto& [suffix, name] : table.metrics)
    for (const Product& loops : group.loops())
      if (table.plain ? is_plain(loops) : is_unblocked(loops))
        columns.push_back(of_metric(loops_name(loops) + suffix, name, loops));
  std::set<std::int64_t> numbers;
  for (const Product& product : select(group, is_unblocked))
    numbers.insert(product.n);
  Products sizes;
  for (const std::int64_t n : numbers)
    sizes.push_back(Product().at_size(n));
  page.add_table(group, table.caption, size_key, sizes, columns);
}

void add_ceilings(Page& page, const ProductGroup& group) {
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
        {ceiling.bandwidth
             ? fmt::format("read bandwidth of an array of {}, which the stated sizes place in {}",
                           base::format_bytes(ceiling.size), ceiling.name)
         : ceiling.name == "vector" ? "multiplications and additions, widest vectors"
                                    : "multiplications and additions, scalar",
         fmt::format("{:.1f} {}{}", ceiling.rate / 1e9, ceiling.bandwidth ? "GB/s" : "GFLOP/s",
                     ceiling.disturbed ? " *" : "")});
  }
  if (std::ranges::any_of(group.ceilings, &CeilingRate::disturbed))
    table.notes.emplace_back("*: disturbed, so the peak may be higher.");
  if (!table.rows.empty()) page.blocks.emplace_back(std::move(table));
}

} // namespace

void add_doubles(Page& page, const ProductGroup& group) {
  add_averages(page, group, "f64");
  for (const BySize& table : tables_by_size() | ranges::views::drop(1))
    add_by_size(page, group, table);
  if (!page.blocks.empty()) add_ceilings(page, group);
}

namespace {

Columns compare_both(const Side& reference, const std::string& suffix, const Side& product = itself) {
  return joined(compare_by(times, reference, suffix, product),
                compare_by(hit_rates, reference, suffix, product));
}

/// A table of the laboratory: a row per column, a column per product.
struct LaboratoryTable {
  std::string caption;
  Products products;
  Columns columns;
};

/// In the steps of the assignment.
std::vector<LaboratoryTable> laboratory_tables(const Laboratory& lab) {
  constexpr std::size_t own_count = 9; // the first rows, up to the misses of L2
  Columns own;
  for (std::size_t i = 0; i < own_count; ++i)
    own.push_back(of_metric(metric_rows()[i].label, metric_rows()[i].name));
  const Side without_copy = [](Product p) {
    p.transposes = false;
    return p;
  };
  const std::string at = fmt::format("; n = {}", lab.first.n);
  const Columns both = joined(own, compare_both(with_variant("ijk-mem"), " vs 1"));
  Products straight{lab.first};
  straight.insert(straight.end(), lab.in_register.begin(), lab.in_register.end());
  std::vector<LaboratoryTable> tables{
      {"1. Straightforward product, i, j, k with the sum in memory" + at, straight, both},
      {"2. Transposed product, i, j, k over a transposed copy of b, the sum in memory" + at, lab.transposed,
       joined(both, compare_both(without_copy, " vs without copy"))},
      {"3. Blocked product, i, k, j inside square blocks of one line" + at, lab.blocked, both}};
  for (const Product& block : lab.blocked)
    tables.push_back({fmt::format("4. {} compared with the transposed product{}", loops_name(block), at),
                      lab.transposed, compare_both(itself, "", [block](const Product&) { return block; })});
  return tables;
}

std::string sizes_text(const ProductGroup& group, const Product& first) {
  const auto bytes = first.n * first.n * first.element_bytes();
  return fmt::format("{} bytes ({}) per matrix, {} elements per line of {} bytes", bytes,
                     base::format_bytes(bytes), group.line() / first.element_bytes(), group.line());
}

} // namespace

std::vector<Laboratory> laboratories(const ProductGroup& group) {
  std::vector<Laboratory> all;
  for (const Product& first : select(group, [](const Product& p) {
         return p.element == "i16" && p.variant == "ijk-mem" && p.build.empty();
       })) {
    const auto of = [&](const std::string& variant) {
      return select(group, [&](const Product& p) {
        return p.element == "i16" && p.n == first.n && p.build.empty() && p.variant == variant;
      });
    };
    all.push_back({first, of("ijk"), of("transposed"), of("blocked")});
  }
  return all;
}

void add_laboratory(Page& page, const ProductGroup& group) {
  for (const Laboratory& lab : laboratories(group)) {
    const Product& first = lab.first;
    page.blocks.emplace_back(document::Paragraph{
        fmt::format("Matrices are {0} x {0} of 16-bit integers: {1}.", first.n, sizes_text(group, first))});
    const auto add = [&](const LaboratoryTable& table) {
      page.add_table(group, table.caption, loops_key, table.products, table.columns, Page::Direction::across);
    };
    for (const LaboratoryTable& table : laboratory_tables(lab))
      add(table);
    const Products vectorised = select(group, [&, n = first.n](const Product& p) {
      return p.element == "i16" && p.n == n && p.build == "vectorised";
    });
    add({fmt::format("5. The same loops built with {}; n = {}",
                     group.version("vectorised_flags", "-O3 -march=native"), first.n),
         vectorised,
         joined({of_metric("elapsed time (s)", "seconds")},
                compare_by(
                    {"cpu_seconds", "seconds"}, [](const Product& p) { return p.with_build(""); },
                    " over the plain build"))});
  }
}

namespace {

/// What the names of products mean.
constexpr const char* i16_text =
    "straightforward: loops i, j, k with the sum in memory; simple: in a register. transposed: "
    "straightforward "
    "over a transposed copy of b, timed without and with the copy. block: loops i, k, j inside square "
    "blocks. "
    "Hit rate of L1: 1 - misses / (loads + stores); of L2: 1 - its misses / those of L1. Speed-up: over "
    "straightforward.";
constexpr const char* f64_text =
    "simple: loops i, j, k with the sum in a register; line: i, k, j; block: line inside square blocks. "
    "GFLOP/s: 2 n^3 operations per time. Speed-up: over simple of the same size, of blocks over line.";

/// CPU time where a repetition was disturbed.
const char* leading_time(const ProductGroup& group) {
  for (const auto& [product, metrics] : group.products)
    if (time_metric(group, product, product) == "cpu_seconds") return "cpu_seconds";
  return "seconds";
}

} // namespace

void add_averages(Page& page, const ProductGroup& group, const std::string& element) {
  const std::string time = leading_time(group);
  const bool by_cpu = time == "cpu_seconds";
  const std::string time_text = by_cpu ? "CPU time" : "time";
  const auto columns = [&](const Side& reference) {
    Columns all{of_metric(time_text + " (s)", time)};
    if (element == "f64")
      all.push_back(of_metric("GFLOP/s", by_cpu ? "GFLOPS_CPU" : "GFLOPS"));
    else
      for (const char* name : {"LST", "PAPI_TOT_CYC"})
        all.push_back(of_metric(std::ranges::find(metric_rows(), name, &MetricRow::name)->label, name));
    all.push_back({by_cpu ? "speed-up by CPU time" : "speed-up by time",
                   [=](const ProductGroup& of, const Product& row) {
                     return comparison(of, row, reference(row), time);
                   }});
    return joined(all,
                  {of_metric("L1 misses (10^6)", "PAPI_L1_DCM"), of_metric("L2 misses (10^6)", "PAPI_L2_DCM"),
                   of_metric("L1 hit rate", "L1_HIT_RATE"), of_metric("L2 hit rate", "L2_HIT_RATE")});
  };
  const auto text = [&](const char* words) {
    if (!page.blocks.empty()) page.blocks.insert(page.blocks.begin(), document::Paragraph{words});
  };
  if (element == "i16") {
    for (const auto& [first, in_register, transposed, blocked] : laboratories(group)) {
      Products products{first};
      for (const auto* const more : {&in_register, &transposed, &blocked})
        products.insert(products.end(), more->begin(), more->end());
      page.add_table(group, fmt::format("n = {}: {}", first.n, sizes_text(group, first)),
                     {{"loops", loops_name}}, products, columns(with_variant("ijk-mem")));
    }
    return text(i16_text);
  }
  const auto wanted = [&](bool blocked) {
    return select(group, [=](const Product& p) {
      return blocked ? p.element == "f64" && p.block > 0 && p.build.empty() : is_plain(p);
    });
  };
  page.add_table(group, "Products of doubles", {{"loops", loops_name}, size_key.front()}, wanted(false),
                 columns(with_variant("ijk")));
  page.add_table(group, "Products of doubles in blocks", block_keys, wanted(true),
                 columns(with_variant("ikj")));
  add_by_size(page, group, tables_by_size().front());
  text(f64_text);
}

namespace {

/// A published value beside the predicted range: -1 below, 0 inside, 1 above; nothing where the prediction is
/// one value.
Fact place_in_range(const Fact& model, const Fact& published) {
  Fact fact = model;
  fact.name = model.metric + " in the predicted range: -1 below, 0 inside, 1 above";
  fact.kind = Kind::place;
  fact.machine = published.machine;
  fact.quantity.reset();
  if (model.known() && published.known() && model.quantity->low < model.quantity->high)
    fact.quantity = Quantity{published.value() < model.quantity->low    ? -1.0
                             : published.value() > model.quantity->high ? 1.0
                                                                        : 0.0,
                             model.quantity->witness};
  fact.absence = fact.known() ? "" : "-";
  return fact;
}

/// A table compared with the values of the same products by `model`, and with the times of a machine here.
void add_published(Page& page, const ProductGroup& table, const std::vector<ProductGroup>& all,
                   const Witness& model, bool full) {
  const auto holder = std::ranges::find_if(all, [&](const auto& g) { return g.has_witness(model); });
  const ProductGroup& modelled = holder == all.end() ? table : *holder;
  const auto own = [](const char* name) {
    return [=](const ProductGroup& group, const Product& p) { return fact(group, p, name); };
  };
  const auto by = [&](const Witness& witness, const char* name) {
    return [&modelled, witness, name](const ProductGroup&, const Product& p) {
      return fact(modelled, p, name, witness);
    };
  };
  const auto here = [&](const ProductGroup& group, const Product& p) {
    Fact found = fact(group, {}, "seconds");
    for (const ProductGroup& other : all)
      if (!other.published && !found.known()) found = fact(other, p, "seconds");
    return found;
  };
  const auto over = [](const auto& a, const auto& b) {
    return [=](const ProductGroup& group, const Product& p) { return ratio(a(group, p), b(group, p)); };
  };
  const auto place = [](const auto& a, const auto& b) {
    return
        [=](const ProductGroup& group, const Product& p) { return place_in_range(a(group, p), b(group, p)); };
  };
  const auto add = [&](const std::string& caption, const Columns& columns) {
    page.add_table(table, caption, {{"loops", loops_name}, {"n", size_text}},
                   select(table, [=](const Product& p) { return full || p.build.empty(); }), columns);
  };
  const auto l1 = own("PAPI_L1_DCM"), l2 = own("PAPI_L2_DCM"), time = own("seconds");
  const auto model_l1 = by(model, "PAPI_L1_DCM"), model_l2 = by(model, "PAPI_L2_DCM");
  constexpr const char* in_range = "published value in the predicted range";
  if (!full)
    return add("Published (" + table.version("published") + ") and here: time (s), misses (10^6)",
               {{"time", time},
                {"time here", here, true},
                {"L1 misses", l1},
                {"L1 misses", model_l1},
                {"model / published", over(model_l1, l1), true},
                {"L2 misses", l2},
                {"L2 misses", model_l2}});
  add("L1 data-cache misses (10^6): published, and modelled for " + model.detail,
      {{"", l1},
       {"", model_l1},
       {"model / published", over(model_l1, l1), true},
       {in_range, place(model_l1, l1), true},
       {"model without TLB / published", over(by(model.with("no-tlb"), "PAPI_L1_DCM"), l1), true}});
  add("L2 data-cache misses (10^6): published, and modelled for loads, stores and page walks",
      {{"", l2},
       {"", model_l2},
       {in_range, place(model_l2, l2), true},
       {"published / published L1", over(l2, l1), true}});
  add("Time (s) and GFLOP/s: published, and time on this machine",
      {{"", time}, {"GFLOP/s", own("GFLOPS")}, {"here", here}, {"published / here", over(time, here), true}});
}

} // namespace

void add_published(Page& page, const std::vector<ProductGroup>& all, bool full) {
  for (const ProductGroup& table : all) {
    if (!table.published || !table.run) continue;
    page.blocks.emplace_back(document::Heading{"Published: " + table.version("published"), 2});
    if (const std::string source = table.version("source"); !source.empty())
      page.blocks.emplace_back(document::Paragraph{source});
    page.blocks.emplace_back(document::Paragraph{"Published values: " + published_clause(table) + "."});
    const Witness model = table.model_witness();
    add_published(page, table, all, model.empty() ? Witness(Witness::model, "unknown") : model, full);
    if (model.empty())
      page.blocks.emplace_back(document::Paragraph{
          "Its machine is unknown, so there is no model to compare with: name it with --published-machine."});
  }
}

namespace {

using document::Answer;

/// Confidence in a value, best first; modelled: not measured.
enum class Trust { high, medium, low, modelled };

Trust trust_in(const Fact& fact) {
  const Quantity& q = *fact.quantity;
  if (q.witness.modelled()) return Trust::modelled;
  if (q.repeatable) return Trust::high;
  const std::size_t repetitions = fact.reference ? q.compared : q.values.size();
  if (repetitions < statistics::min_compared || !fact.clear()) return Trust::low;
  return count_disturbed(q.processes) > 0 ? Trust::medium : Trust::high;
}

/// The least trust in measured numbers, and whether some are modelled.
void state_trust(Answer& answer, std::set<Trust> all) {
  constexpr const char* texts[] = {"high", "medium", "low"};
  const bool modelled = all.erase(Trust::modelled) > 0;
  answer.partly_modelled = modelled && !all.empty();
  if (!all.empty())
    answer.confidence = texts[static_cast<std::size_t>(*all.rbegin())];
  else if (modelled)
    answer.confidence = "modelled";
}

} // namespace

void state_confidence(Answer& answer, const std::vector<Fact>& facts) {
  std::set<Trust> all;
  std::ranges::transform(facts, std::inserter(all, all.end()), trust_in);
  state_trust(answer, std::move(all));
}

namespace {

/// Collects the facts of one answer, and why others are missing.
class AnswerText {
public:
  /// An absent comparison is left out, and one of elapsed times that were disturbed.
  void add(const ProductGroup& group, const std::string& label, const Fact& fact) {
    if (fact.reference && fact.metric == "seconds" &&
        time_metric(group, fact.product, *fact.reference) != "seconds")
      return;
    if (fact.known()) {
      parts_.push_back(label + ": " + fact.words());
      trust_.insert(trust_in(fact));
    } else if (!fact.reference && fact.metric != "tsc_cycles") { // cycles of the core are asked for
      missing_[fact.reason].insert(label);
    }
  }
  [[nodiscard]] Answer answer(std::string question, std::string proof, std::string cells) const {
    Answer answer{std::move(question)};
    answer.value = fmt::format("{}", fmt::join(parts_, "; "));
    std::vector<std::string> reasons;
    for (const auto& [reason, labels] : missing_)
      reasons.push_back(fmt::format("{}: {}", fmt::join(labels, ", "), reason));
    answer.reason = fmt::format("{}", fmt::join(reasons, "; "));
    if (parts_.empty() && answer.reason.empty()) answer.reason = "not measured";
    if (parts_.empty()) return answer;
    answer.proof = std::move(proof);
    answer.cells = std::move(cells);
    state_trust(answer, trust_);
    return answer;
  }

private:
  std::vector<std::string> parts_;
  std::map<std::string, std::set<std::string>> missing_; ///< labels by reason
  std::set<Trust> trust_;
};

} // namespace

std::optional<Answer> answer_speed_ups(const ProductGroup& group, const std::string& element,
                                       const std::string& reference) {
  const Products all = select(group, [&](const Product& p) { // by ascending size
    return p.element == element && p.variant == reference && p.build.empty() && group.quantity(p, "seconds");
  });
  if (all.empty()) return {};
  const Product& first = all.back();
  AnswerText text;
  bool by_cpu = false;
  for (const Product& product : select(group, [&](const Product& p) {
         return p.element == element && p.build.empty() && p.n == first.n && p != first;
       })) {
    const std::string time = time_metric(group, product, first);
    by_cpu = by_cpu || time == "cpu_seconds";
    text.add(group, loops_name(product) + (time == "seconds" ? ", by time" : ", by CPU time"),
             comparison(group, product, first, time));
  }
  Answer answer =
      text.answer(fmt::format("Products of {}, n = {}: speed-up over {}",
                              element == "f64" ? "doubles" : "16-bit integers", first.n, loops_name(first)),
                  by_cpu ? cpu_times_caption : times_caption, fmt::format("row {}", first.n));
  return answer.value.empty() ? std::nullopt : std::optional(std::move(answer));
}

} // namespace recount::matmul
