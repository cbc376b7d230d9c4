#include "matmul/derived.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>

namespace recount::matmul {
namespace {

using Value = std::optional<double>;

Value ratio(Value over, Value under) {
  if (!over || !under || *under == 0) return {};
  return *over / *under;
}

Value sum(Value a, Value b) {
  if (!a || !b) return {};
  return *a + *b;
}

Value one_less(Value share) {
  if (!share) return {};
  return 1 - *share;
}

/// Loads and stores.
Value accesses(const DerivedParts& parts) {
  const Value both = sum(parts.counted("PAPI_LD_INS"), parts.counted("PAPI_SR_INS"));
  return both ? both : parts.counted("PAPI_LST_INS");
}
Value l1_hit_rate(const DerivedParts& parts) {
  return one_less(ratio(parts.counted("PAPI_L1_DCM"), accesses(parts)));
}
Value l2_hit_rate(const DerivedParts& parts) {
  const Value hits = ratio(parts.counted("PAPI_L2_DCH"), parts.counted("PAPI_L2_DCA"));
  return hits ? hits : one_less(ratio(parts.counted("PAPI_L2_DCM"), parts.counted("PAPI_L2_DCA")));
}
Value instructions_per_cycle(const DerivedParts& parts) {
  return ratio(parts.counted("PAPI_TOT_INS"), parts.counted("PAPI_TOT_CYC"));
}
Value l1_per_operation(const DerivedParts& parts) {
  return ratio(parts.counted("PAPI_L1_DCM"), parts.operations);
}
Value l2_per_operation(const DerivedParts& parts) {
  return ratio(parts.counted("PAPI_L2_DCM"), parts.operations);
}
Value intensity(const DerivedParts& parts) {
  const Value lines = parts.counted("PAPI_L2_DCM");
  return lines ? ratio(parts.operations, *lines * parts.line) : Value();
}
Value gflops(const DerivedParts& parts) {
  return ratio(parts.operations / 1e9, parts.counted("seconds"));
}

constexpr std::array derivation_rows{
    Derivation{"LST", "loads and stores", "PAPI_LD_INS + PAPI_SR_INS, else PAPI_LST_INS", accesses, true},
    Derivation{"L1_HIT_RATE", "L1 hit rate", "1 - PAPI_L1_DCM / loads and stores", l1_hit_rate, true},
    Derivation{"L2_HIT_RATE", "L2 hit rate", "PAPI_L2_DCH / PAPI_L2_DCA, else 1 - PAPI_L2_DCM / PAPI_L2_DCA",
               l2_hit_rate, true},
    Derivation{"IPC", "instructions per cycle", "PAPI_TOT_INS / PAPI_TOT_CYC", instructions_per_cycle, true},
    Derivation{"L1_PER_FLOP", "L1 misses per operation", "PAPI_L1_DCM / 2 n^3", l1_per_operation, true},
    Derivation{"L2_PER_FLOP", "L2 misses per operation", "PAPI_L2_DCM / 2 n^3", l2_per_operation, true},
    Derivation{"INTENSITY", "operations per byte", "2 n^3 / (PAPI_L2_DCM * bytes of a line)", intensity,
               true},
    Derivation{"GFLOPS", "GFLOP/s", "2 n^3 / seconds / 10^9", gflops, false},
};

const Metrics& metrics_of(const Products& group, const Product& product) {
  static const Metrics none;
  const auto at = group.of.find(product);
  return at == group.of.end() ? none : at->second;
}

/// The values of one witness: the statistic of each metric, and its values by repetition.
using WitnessValues = std::map<std::string, const Repetitions*>;

WitnessValues values_of(const Metrics& metrics, const Witness& witness) {
  WitnessValues values;
  for (auto at = metrics.lower_bound({witness, ""}); at != metrics.end() && at->first.first == witness; ++at)
    if (at->second.summary) values.emplace(at->first.second, &at->second);
  return values;
}

Value in_repetition(const Repetitions& all, int repetition) {
  const auto at = std::ranges::lower_bound(all.values, repetition, {}, &Repeated::repetition);
  return at == all.values.end() || at->repetition != repetition ? Value() : Value(at->value);
}

std::optional<Quantity> derived_by(const Products& group, const Product& product, const Derivation& row,
                                   const Witness& witness) {
  const WitnessValues values = values_of(metrics_of(group, product), witness);
  DerivedParts parts{[&](const char* metric) -> Value {
                       const auto at = values.find(metric);
                       return at == values.end() ? Value() : Value(at->second->summary->value);
                     },
                     product.operations(), static_cast<double>(group.line())};
  const Value value = row.of(parts);
  if (!value) return {};
  Quantity made{*value, witness};
  std::map<int, bool> repetitions; // whether disturbed
  for (const auto& [metric, all] : values)
    for (const Repeated& one : all->values) {
      bool& disturbed = repetitions[one.repetition];
      disturbed = disturbed || !one.disturbances.empty();
    }
  std::vector<double> each;
  for (const auto& [repetition, disturbed] : repetitions) {
    parts.counted = [&values, repetition = repetition](const char* metric) -> Value {
      const auto at = values.find(metric);
      return at == values.end() ? Value() : in_repetition(*at->second, repetition);
    };
    const Value one = row.of(parts);
    if (!one) continue;
    made.values.emplace_back(repetition, *one);
    made.flagged += disturbed ? 1U : 0U;
    each.push_back(*one);
  }
  if (each.empty() || group.statistic != statistics::Statistic::median) return made;
  const statistics::Summary s = statistics::summarise(each);
  made.low = std::min(*value, s.low);
  made.high = std::max(*value, s.high);
  return made;
}

/// Completes a comparison of two quantities.
Quantity compared(Quantity made, const Quantity& a, const Quantity& b) {
  made.evidence = evidence(a, b);
  made.compared = std::min(a.values.size(), b.values.size());
  made.flagged = std::max(a.flagged, b.flagged);
  return made;
}

/// b / a: how many times faster a is.
std::optional<Quantity> faster(const std::optional<Quantity>& a, const std::optional<Quantity>& b) {
  if (!a || !b || a->low <= 0 || b->low <= 0 || a->witness != b->witness) return {};
  return compared({b->value / a->value, a->witness, b->low / a->high, b->high / a->low}, *a, *b);
}

std::optional<Quantity> delta(const Products& group, const Product& product, const Product& other,
                              const char* name) {
  const auto a = derived(group, product, name);
  if (!a) return {};
  const auto b = derived(group, other, name, a->witness);
  if (!b) return {};
  return compared({a->value - b->value, a->witness, a->low - b->high, a->high - b->low}, *a, *b);
}

} // namespace

std::span<const Derivation> derivations() {
  return derivation_rows;
}

std::optional<Quantity> derived(const Products& group, const Product& product, const std::string& name,
                                const Witness& witness) {
  const auto* const row = std::ranges::find_if(
      derivation_rows, [&](const Derivation& derivation) { return derivation.name == name; });
  if (row == derivation_rows.end()) throw std::out_of_range("no derived metric " + name);
  std::vector<Witness> who{witness};
  if (witness.empty()) {
    who.clear();
    const Metrics& metrics = metrics_of(group, product);
    for (const auto& [key, values] : metrics)
      if (!values.for_comparison && std::ranges::find(who, key.first) == who.end()) who.push_back(key.first);
    std::ranges::stable_sort(who, {}, preference);
  }
  for (const auto& name_of_witness : who)
    if (auto made = derived_by(group, product, *row, name_of_witness)) return made;
  return {};
}

std::optional<Quantity> cycles(const Products& group, const Product& product) {
  const Metrics& metrics = metrics_of(group, product);
  if (auto counted = central(metrics, "PAPI_TOT_CYC"); counted && !counted->witness.modelled())
    return counted;
  return central(metrics, "tsc_cycles", Witness::clock);
}

std::optional<Quantity> seconds(const Products& group, const Product& product) {
  return central(metrics_of(group, product), "seconds");
}

Comparison compare(const Products& group, const Product& product, const Product& other) {
  Comparison c;
  c.by_time = faster(seconds(group, product), seconds(group, other));
  c.by_cycles = faster(cycles(group, product), cycles(group, other));
  c.l1 = delta(group, product, other, "L1_HIT_RATE");
  c.l2 = delta(group, product, other, "L2_HIT_RATE");
  return c;
}

namespace {

struct Filled {
  std::vector<std::string> cells;
  std::set<Witness> witnesses;
  std::set<std::size_t> empty; ///< places of the cells without a number
  bool intervals = false;      ///< whether any cell has one
  bool ranges = false;         ///< whether any cell has that of modelled values
  std::set<std::string> held;  ///< reservations about what is withheld
  std::set<std::string> weak;  ///< those about what is shown
};

/// What stands for a comparison that the values do not support.
constexpr const char* withheld = "n.d.";

std::string cell_of(const Measure& measure, const Quantity& quantity, Filled& filled) {
  if (!quantity.clear()) (quantity.shown() ? filled.weak : filled.held).insert(reservation(quantity));
  if (!quantity.shown()) return withheld;
  std::string cell = measure.show(quantity.value);
  const std::string low = measure.show(quantity.low), high = measure.show(quantity.high);
  if (low == high) return cell;
  (quantity.witness.modelled() ? filled.ranges : filled.intervals) = true;
  return fmt::format("{} [{}, {}]", cell, low, high);
}

/// The notes of a table on its intervals and on what it does not state.
class CellNotes {
public:
  void take(const Filled& filled) {
    intervals_ = intervals_ || filled.intervals;
    ranges_ = ranges_ || filled.ranges;
    held_.insert(filled.held.begin(), filled.held.end());
    weak_.insert(filled.weak.begin(), filled.weak.end());
  }
  void write(std::vector<std::string>& notes) const {
    if (intervals_)
      notes.push_back(fmt::format("[low, high]: 95 % interval of the median (range of fewer than {} values).",
                                  statistics::least_for_interval));
    if (ranges_)
      notes.emplace_back(
          "[low, high] of a modelled value: range of its draws of placement; that of a count includes "
          "the error of sampling.");
    for (const auto& why : held_)
      notes.push_back(fmt::format("{}: {}.", withheld, why));
    for (const auto& why : weak_)
      notes.push_back(fmt::format("Comparisons: {}.", why));
  }

private:
  bool intervals_ = false, ranges_ = false;
  std::set<std::string> held_, weak_;
};

/// The numbers of a measure; if they are not all by one witness, each cell names its witness.
Filled fill(const Measure& measure, const std::vector<Product>& products) {
  Filled filled;
  std::vector<std::optional<Quantity>> all;
  for (const Product& product : products) {
    all.push_back(measure.of(product));
    if (all.back()) filled.witnesses.insert(all.back()->witness);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& quantity = all[i];
    std::string cell = quantity      ? cell_of(measure, *quantity, filled)
                       : measure.why ? measure.why(products[i])
                                     : "-";
    if (!quantity) filled.empty.insert(i);
    if (quantity && filled.witnesses.size() > 1)
      cell += fmt::format(" ({})", base::format_witness(quantity->witness));
    filled.cells.push_back(std::move(cell));
  }
  return filled;
}

std::string said_by(const Filled& filled) {
  return filled.witnesses.size() == 1 ? base::format_witness(*filled.witnesses.begin()) : "see the cells";
}

} // namespace

Measure metric_measure(const Products& group, std::string label, const std::string& metric,
                       std::string (*show)(double), const Witness& witness) {
  return {std::move(label),
          [&group, metric, witness](const Product& product) -> std::optional<Quantity> {
            const auto at = group.of.find(product);
            if (at == group.of.end()) return {};
            return matmul::central(at->second, metric, witness);
          },
          show, [&group](const Product& product) { return absence(group, product); }};
}

Measure derived_measure(const Products& group, std::string label, const std::string& name,
                        std::string (*show)(double), const Witness& witness) {
  return {std::move(label),
          [&group, name, witness](const Product& product) {
            return matmul::derived(group, product, name, witness);
          },
          show, [&group](const Product& product) { return absence(group, product); }};
}

std::vector<document::Block> across(const std::string& caption, const std::vector<Product>& products,
                                    const std::vector<Measure>& measures) {
  document::Table table{caption, {{"", false}}, {}};
  for (const Product& product : products)
    table.columns.push_back({matmul::loops_name(product)});
  table.columns.push_back({"witness", false});
  CellNotes notes;
  for (const Measure& measure : measures) {
    const Filled filled = fill(measure, products);
    if (filled.witnesses.empty()) continue;
    notes.take(filled);
    std::vector<std::string> row{measure.label};
    row.insert(row.end(), filled.cells.begin(), filled.cells.end());
    row.push_back(said_by(filled));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return {};
  notes.write(table.notes);
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

std::vector<document::Block> down(const std::string& caption, const std::vector<Lead>& leads,
                                  const std::vector<Product>& products,
                                  const std::vector<Measure>& measures) {
  document::Table table{caption, {}, {}};
  table.rows.resize(products.size());
  for (const Lead& lead : leads) {
    table.columns.push_back({lead.head, true, true});
    for (std::size_t i = 0; i < products.size(); ++i)
      table.rows[i].push_back(lead.of(products[i]));
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> said; // who, and which columns
  CellNotes notes;
  std::vector<bool> numbers(products.size()); // whether a row has any
  for (const Measure& measure : measures) {
    const Filled filled = fill(measure, products);
    if (filled.witnesses.empty()) continue;
    notes.take(filled);
    table.columns.push_back({measure.label});
    for (std::size_t i = 0; i < products.size(); ++i) {
      table.rows[i].push_back(filled.cells[i]);
      numbers[i] = numbers[i] || !filled.empty.contains(i);
    }
    const std::string who = said_by(filled);
    auto at = std::ranges::find(said, who, &std::pair<std::string, std::vector<std::string>>::first);
    if (at == said.end()) at = said.insert(said.end(), {who, {}});
    at->second.push_back(measure.label);
  }
  if (said.empty()) return {};
  for (const auto& [who, columns] : said)
    table.notes.push_back(said.size() == 1 ? fmt::format("All values {}.", who)
                                           : fmt::format("{}: {}.", fmt::join(columns, "; "), who));
  notes.write(table.notes);
  // What has no number at all has no row.
  std::size_t row = 0;
  std::erase_if(table.rows, [&](const auto&) { return !numbers[row++]; });
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

} // namespace recount::matmul
