#include "commands/matmul/derived.hpp"

#include "base/format.hpp"
#include "base/formula/named.hpp"
#include "base/names.hpp"
#include "base/witness.hpp"
#include "show/plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

namespace recount::matmul {
namespace {

using Value = std::optional<double>;
using Counted = std::function<Value(const std::string& metric)>;

/// Nothing where a metric was not counted, or the divisor is 0.
Value evaluate(const char* formula, const Counted& counted) {
  static const auto all_parsed = [] {
    std::map<std::string, formula::Named> parsed;
    for (const Derivation& row : derivations())
      for (const char* text : row.formulas)
        parsed.emplace(text, formula::parse_named(text));
    return parsed;
  }();
  const formula::Named& parsed = all_parsed.at(formula);
  std::vector<double> operands;
  for (const formula::Quantity& quantity : parsed.quantities) {
    const Value value = quantity.name.empty() ? quantity.number : counted(quantity.name);
    if (!value) return {};
    operands.push_back(*value);
  }
  return formula::evaluate_real(parsed.rpn, operands).value;
}

Value derive(const Derivation& row, const Counted& counted) {
  for (const char* formula : row.formulas)
    if (const Value value = evaluate(formula, counted)) return value;
  return {};
}

const Derivation* find_derivation(const std::string& name) {
  const auto row = std::ranges::find_if(derivations(), [&](const Derivation& d) { return d.name == name; });
  return row == derivations().end() ? nullptr : &*row;
}

/// A quantity of a formula: of all processes, or of one.
Value operand(const ProductGroup& group, const Product& product, const Witness& witness,
              const std::string& name, const Process* process = nullptr) {
  if (name == "operations") return product.operations();
  if (name == "line") return static_cast<double>(group.line());
  const Metrics& metrics = group.metrics(product);
  const auto all = metrics.find({witness, name});
  if (all == metrics.end() || !all->second.summary) return {};
  if (!process) return all->second.summary->value;
  const auto one = std::ranges::find(all->second.values, *process, &Repeated::process);
  return one == all->second.values.end() ? Value() : Value(one->value);
}

std::optional<Quantity> derived_by(const ProductGroup& group, const Product& product, const Derivation& row,
                                   const Witness& witness) {
  const Metrics& metrics = group.metrics(product);
  const auto counted = [&](const std::string& name, const Process* process) {
    return operand(group, product, witness, name, process);
  };
  std::set<std::string> parts;
  const Value value = derive(row, [&](const std::string& name) {
    parts.insert(name);
    return counted(name, nullptr);
  });
  if (!value) return {};
  Quantity quantity{*value, witness};
  quantity.repeatable = group.repeatable;
  Processes processes;
  for (const auto& [key, all] : metrics)
    if (key.first == witness)
      for (const Repeated& one : all.values)
        processes[one.process] |= !one.disturbances.empty();
  for (const auto& [process, disturbed] : processes) {
    const Value one =
        derive(row, [&, process = &process](const std::string& name) { return counted(name, process); });
    if (!one) continue;
    quantity.values.push_back(*one);
    if (!witness.modelled()) quantity.processes.emplace(process, disturbed);
  }
  if (quantity.values.empty() || group.statistic != statistics::Statistic::median) return quantity;
  const statistics::Summary s = statistics::summarise(quantity.values);
  quantity.low = std::min(*value, s.low);
  quantity.high = std::max(*value, s.high);
  const double least = quantity.low, most = quantity.high;
  // Sampling errors of the parts add up at most.
  for (const std::string& part : parts) {
    const auto all = metrics.find({witness, part});
    double error = 0;
    if (all != metrics.end())
      for (const Repeated& one : all->second.values)
        error = std::max(error, one.error);
    double below = 0, above = 0;
    for (const double end : {-error, error}) {
      const Value shifted = derive(row, [&](const std::string& name) {
        const Value one = counted(name, nullptr);
        return one && name == part ? Value(*one + end) : one;
      });
      below = std::max(below, *value - shifted.value_or(*value));
      above = std::max(above, shifted.value_or(*value) - *value);
    }
    quantity.low -= below;
    quantity.high += above;
  }
  if (std::string_view(row.name).ends_with(
          "_HIT_RATE")) { // an error of sampling does not make it less than none
    quantity.low = std::max(quantity.low, std::min(0.0, least));
    quantity.high = std::min(quantity.high, std::max(1.0, most));
  }
  return quantity;
}

/// Of a derived metric or a time; empty: a count or a ratio.
std::string unit_of(const std::string& name) {
  if (is_seconds(name) || name == "cpu_seconds") return "s";
  const Derivation* const row = find_derivation(name);
  return row ? row->unit : "";
}

Quantity compared(Quantity comparison, const Quantity& a, const Quantity& b) {
  comparison.evidence = evidence(a, b);
  comparison.repeatable = a.repeatable && b.repeatable;
  comparison.compared = std::min(a.values.size(), b.values.size());
  comparison.processes = a.processes;
  add_processes(comparison.processes, b.processes);
  return comparison;
}

} // namespace

const std::vector<Derivation>& derivations() {
  static const std::vector<Derivation> rows{
      {"LST", "loads and stores", {"PAPI_LD_INS + PAPI_SR_INS", "PAPI_LST_INS"}},
      {"L1_HIT_RATE",
       "L1 hit rate",
       {"1 - PAPI_L1_DCM / (PAPI_LD_INS + PAPI_SR_INS)", "1 - PAPI_L1_DCM / PAPI_LST_INS"}},
      {"L2_HIT_RATE", "L2 hit rate", {"PAPI_L2_DCH / PAPI_L2_DCA", "1 - PAPI_L2_DCM / PAPI_L2_DCA"}},
      {"IPC", "instructions per cycle", {"PAPI_TOT_INS / PAPI_TOT_CYC"}},
      {"L1_PER_FLOP", "L1 misses per operation", {"PAPI_L1_DCM / operations"}},
      {"L2_PER_FLOP", "L2 misses per operation", {"PAPI_L2_DCM / operations"}},
      {"INTENSITY", "operations per byte", {"operations / (PAPI_L2_DCM * line)"}, "operations/B"},
      {"GFLOPS", "GFLOP/s", {"operations / seconds / 1e9"}, "GFLOP/s"},
      {"GFLOPS_CPU", "GFLOP/s by CPU time", {"operations / cpu_seconds / 1e9"}, "GFLOP/s"}};
  return rows;
}

std::optional<Quantity> derived(const ProductGroup& group, const Product& product, const std::string& name,
                                const Witness& witness) {
  const Derivation* const row = find_derivation(name);
  if (!row) throw std::out_of_range("no derived metric " + name);
  for (const Witness& one : witness.empty() ? group.witnesses : std::vector{witness})
    if (auto quantity = derived_by(group, product, *row, one)) return quantity;
  return {};
}

QuantityOf metric(const std::string& name, const Witness& witness) {
  const bool is_derived = find_derivation(name) != nullptr;
  return [=](const ProductGroup& group, const Product& product) {
    return is_derived ? derived(group, product, name, witness) : group.quantity(product, name, witness);
  };
}

std::optional<Quantity> core_cycles(const ProductGroup& group, const Product& product) {
  auto counted = group.quantity(product, "PAPI_TOT_CYC");
  return counted && !counted->witness.modelled() ? counted : std::nullopt;
}

std::optional<Quantity> tsc_cycles(const ProductGroup& group, const Product& product) {
  if (core_cycles(group, product)) return {};
  return group.quantity(product, "tsc_cycles", Witness::clock);
}

std::optional<Quantity> seconds(const ProductGroup& group, const Product& product) {
  return group.quantity(product, "seconds");
}

std::string time_metric(const ProductGroup& group, const Product& a, const Product& b) {
  bool disturbed = false, known = true;
  for (const Product* const product : {&a, &b}) {
    const auto elapsed = seconds(group, *product);
    disturbed = disturbed || (elapsed && count_disturbed(elapsed->processes) > 0);
    known = known && group.quantity(*product, "cpu_seconds");
  }
  return disturbed && known ? "cpu_seconds" : "seconds";
}

const char* time_clause(const std::string& metric) {
  return metric == "cpu_seconds" ? " by CPU time" : "";
}

std::optional<Quantity> ratio(const std::optional<Quantity>& a, const std::optional<Quantity>& b) {
  if (!a || !b || a->low <= 0 || b->low <= 0) return {};
  return Quantity{a->value / b->value, a->witness, a->low / b->high, a->high / b->low};
}

std::optional<Quantity> speed_up(const ProductGroup& group, const Product& product, const Product& reference,
                                 const QuantityOf& cost) {
  const auto a = cost(group, product), b = cost(group, reference);
  const auto factor = ratio(b, a);
  if (!factor || a->witness != b->witness) return {};
  return compared(*factor, *a, *b);
}

std::optional<Quantity> difference(const ProductGroup& group, const Product& product,
                                   const Product& reference, const char* name) {
  const auto a = derived(group, product, name);
  if (!a) return {};
  for (const Witness& witness : group.witnesses)
    if (const auto b =
            same_witness(witness, a->witness) ? derived(group, reference, name, witness) : std::nullopt)
      return compared({a->value - b->value, a->witness, a->low - b->high, a->high - b->low}, *a, *b);
  return {};
}

namespace {

/// Everything was counted, but the divisor of a ratio is 0.
bool divides_by_zero(const ProductGroup& group, const Product& product, const std::string& name) {
  const Derivation* const row = find_derivation(name);
  return row && std::ranges::any_of(group.witnesses, [&](const Witness& witness) {
           return std::ranges::any_of(row->formulas, [&](const char* formula) {
             bool counted = true;
             const Value value = evaluate(formula, [&](const std::string& part) {
               const Value one = operand(group, product, witness, part);
               counted = counted && one;
               return one;
             });
             return counted && !value;
           });
         });
}

/// In the cell of a quantity that has no value.
std::string absence_text(const ProductGroup& group, const Product& product, const std::string& name) {
  return divides_by_zero(group, product, name) ? "divisor is 0" : group.absence(product);
}

} // namespace

std::string absence_reason(const ProductGroup& group, const Product& product, const std::string& metric) {
  for (const auto& [key, all] : group.metrics(product))
    if (key.second == metric && !all.summary && !all.reason.empty()) return all.reason->text();
  return absence_text(group, product, metric);
}

std::string size_text(const Product& product) {
  return std::to_string(product.n);
}

std::string block_text(const Product& product) {
  return std::to_string(product.block);
}

std::string format_factor(double factor) {
  return fmt::format("{:.2f}", factor);
}

std::vector<Measure> comparisons(const Side& reference, const std::string& suffix, const Side& product) {
  const auto faster = [&](const QuantityOf& cost) -> QuantityOf {
    return [=](const ProductGroup& group, const Product& p) {
      return speed_up(group, product(p), reference(p), cost);
    };
  };
  const auto differs = [&](const char* name) -> QuantityOf {
    return [=](const ProductGroup& group, const Product& p) {
      return difference(group, product(p), reference(p), name);
    };
  };
  const QuantityOf by_cpu = [=](const ProductGroup& group, const Product& p) -> std::optional<Quantity> {
    const std::string time = time_metric(group, product(p), reference(p));
    if (time == "seconds") return {};
    return speed_up(group, product(p), reference(p), metric(time));
  };
  std::vector<Measure> all;
  const auto add = [&](const std::string& name, const char* unit, QuantityOf quantity,
                       std::string (*format)(double)) {
    all.push_back(
        {name + unit + suffix, std::move(quantity), format, true, {}, name + suffix, product, reference});
  };
  add("speed-up by time", "", faster(seconds), format_factor);
  add("speed-up by CPU time", "", by_cpu, format_factor);
  add("speed-up by cycles", "", faster(core_cycles), format_factor);
  add("speed-up by TSC cycles", "", faster(tsc_cycles), format_factor);
  add("L1 hit rate difference", " (points)", differs("L1_HIT_RATE"), base::format_points);
  add("L2 hit rate difference", " (points)", differs("L2_HIT_RATE"), base::format_points);
  return all;
}

std::vector<std::pair<std::string, std::string>> product_keys(const Product& product) {
  return {{"loops", loops_name(product)},
          {"variant", product.variant},
          {"build", product.build.empty() ? "plain" : product.build},
          {"element", product.element},
          {"n", size_text(product)},
          {"block", product.block > 0 ? block_text(product) : ""},
          {"transpose", product.variant != "transposed" ? ""
                        : product.transposes            ? "included"
                                                        : "excluded"}};
}

namespace {

/// Cells of one measure, and what the notes of their table must state.
struct Cells {
  std::string label;
  std::vector<std::string> texts;
  std::set<Witness> witnesses;
  std::vector<show::Datum> data; ///< as the cells
};

/// The notes of a table on its intervals, on disturbed repetitions and on what it does not state.
struct Notes {
  bool intervals = false, ranges = false;
  Processes processes;
  std::set<std::string> withheld, weak; ///< reservations about comparisons that are not shown, and shown
};

/// In place of a comparison that the values do not support.
constexpr const char* withheld_text = "n.d.";

std::string cell_text(const Measure& measure, const Quantity& quantity, Notes& notes) {
  if (!quantity.clear()) (quantity.shown() ? notes.weak : notes.withheld).insert(reservation(quantity));
  if (!quantity.shown()) return withheld_text;
  const std::string text = measure.format(quantity.value), low = measure.format(quantity.low),
                    high = measure.format(quantity.high);
  if (low == high) return text;
  (quantity.witness.modelled() ? notes.ranges : notes.intervals) = true;
  return fmt::format("{} [{}, {}]", text, low, high);
}

show::Datum make_datum(const ProductGroup& group, const Measure& measure, const Product& product,
                       const std::optional<Quantity>& quantity) {
  show::Datum datum{product_keys(measure.of ? measure.of(product) : product), measure.name};
  datum.keys.insert(datum.keys.begin(), {"machine", group.machine});
  if (measure.against) datum.keys.emplace_back("compared with", loops_name(measure.against(product)));
  if (!quantity) {
    datum.reason = absence_reason(group, product, datum.quantity);
    return datum;
  }
  datum.witness = quantity->witness.name();
  datum.repetitions = std::max(quantity->values.size(), quantity->processes.size());
  datum.disturbed = count_disturbed(quantity->processes);
  if (!quantity->clear()) datum.reason = reservation(*quantity);
  if (!quantity->shown()) return datum;
  datum.statistic = quantity->witness == Witness::published && quantity->values.size() < 2
                        ? "as published"
                        : statistics::name_of(group.statistic);
  datum.value = quantity->value;
  if (quantity->low < quantity->high) {
    datum.low = quantity->low;
    datum.high = quantity->high;
  }
  datum.unit = unit_of(measure.name);
  return datum;
}

/// If the numbers are not all by one witness, each cell names its witness.
Cells fill_cells(const ProductGroup& group, const Measure& measure, const std::vector<Product>& products,
                 Notes& notes) {
  Cells cells{measure.label, {}, {}, {}};
  std::vector<std::optional<Quantity>> quantities;
  for (const Product& row : products) {
    const Product product = measure.loops ? measure.loops->at_size(row.n) : row;
    quantities.push_back(measure.quantity(group, product));
    cells.texts.emplace_back(measure.comparison ? "-" : absence_text(group, product, measure.name));
    cells.data.push_back(make_datum(group, measure, product, quantities.back()));
    if (quantities.back()) cells.witnesses.insert(quantities.back()->witness);
  }
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    if (!quantities[i]) continue;
    cells.texts[i] = cell_text(measure, *quantities[i], notes);
    add_processes(notes.processes, quantities[i]->processes);
    if (cells.witnesses.size() > 1)
      cells.texts[i] += fmt::format(" ({})", base::format_witness(quantities[i]->witness));
  }
  return cells;
}

std::vector<std::string> note_texts(const std::vector<Cells>& columns, const Notes& notes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> labels; // by witness, in order
  for (const Cells& cells : columns) {
    const std::string source =
        cells.witnesses.size() == 1 ? base::format_witness(*cells.witnesses.begin()) : "see the cells";
    auto at = std::ranges::find(labels, source, [](const auto& one) { return one.first; });
    if (at == labels.end()) at = labels.insert(at, {source, {}});
    at->second.push_back(cells.label);
  }
  std::vector<std::string> texts;
  for (const auto& [source, of] : labels)
    texts.push_back(labels.size() == 1 ? fmt::format("All values {}.", source)
                                       : fmt::format("{}: {}.", fmt::join(of, "; "), source));
  if (notes.intervals)
    texts.push_back(
        fmt::format("[low, high]: 95 % interval of the median (range of fewer than {} values); of a ratio, "
                    "from the ends of both intervals.",
                    statistics::min_for_interval));
  if (notes.ranges)
    texts.emplace_back(
        "[low, high] of a modelled count: error of sampling, and range of its draws of placement, "
        "where there are several.");
  if (const std::size_t disturbed = count_disturbed(notes.processes); disturbed > 0)
    texts.push_back(plot::disturbed_text(disturbed, notes.processes.size()) + ".");
  for (const auto& why : notes.withheld)
    texts.push_back(fmt::format("{}: {}.", withheld_text, why));
  for (const auto& why : notes.weak)
    texts.push_back(fmt::format("Comparisons: {}.", why));
  return texts;
}

/// Rows become columns; the cells of the first column become the heads.
show::Table transposed(const show::Table& table) {
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

void add_table(std::vector<document::Block>& blocks, const ProductGroup& group, const std::string& caption,
               const std::vector<KeyColumn>& keys, const std::vector<Product>& products,
               const std::vector<Measure>& measures, Direction direction) {
  Notes notes;
  std::vector<Cells> columns;
  for (const Measure& measure : measures)
    if (Cells cells = fill_cells(group, measure, products, notes); !cells.witnesses.empty())
      columns.push_back(std::move(cells));
  if (columns.empty()) return;
  show::Table table({}, caption);
  table.notes = note_texts(columns, notes);
  for (const KeyColumn& key : keys)
    table.columns.push_back(show::key_number(key.head));
  for (const Cells& cells : columns)
    table.columns.push_back(show::number(cells.label));
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (std::ranges::all_of(columns, [&](const Cells& cells) {
          return cells.texts[i] == "-" || cells.texts[i] == ProductGroup::not_run;
        }))
      continue;
    auto& row = table.rows.emplace_back();
    for (const KeyColumn& key : keys)
      row.push_back(key.text(products[i]));
    for (Cells& cells : columns) {
      row.push_back(cells.texts[i]);
      if (cells.texts[i] != "-") table.data.push_back(std::move(cells.data[i]));
    }
  }
  blocks.emplace_back(direction == Direction::down ? std::move(table) : transposed(table));
}

} // namespace recount::matmul
