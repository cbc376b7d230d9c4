#include "commands/matmul/matmul_tables.hpp"

#include "base/format.hpp"
#include "base/formula/named.hpp"
#include "base/names.hpp"
#include "model/machine.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace recount::matmul {
namespace {

using Value = std::optional<double>;
using Counted = std::function<Value(const std::string& metric)>;

const formula::Named& parse(const char* formula) {
  static const auto all_parsed = [] {
    std::map<std::string, formula::Named> parsed;
    for (const MetricRow& row : metric_rows())
      for (const char* text : row.formulas)
        parsed.emplace(text, formula::parse_named(text));
    return parsed;
  }();
  return all_parsed.at(formula);
}

/// Nothing where a metric was not counted, or the divisor is 0.
Value evaluate(const char* formula, const Counted& counted) {
  std::vector<double> operands;
  for (const formula::Quantity& part : parse(formula).quantities) {
    const Value value = part.name.empty() ? part.number : counted(part.name);
    if (!value) return {};
    operands.push_back(*value);
  }
  return formula::evaluate_real(parse(formula).rpn, operands).value;
}

const MetricRow* find_row(const std::string& name) {
  const auto row = std::ranges::find(metric_rows(), name, &MetricRow::name);
  return row == metric_rows().end() ? nullptr : &*row;
}

bool is_derived(const MetricRow* row) {
  return row && !row->formulas.empty();
}

/// An operand of a formula: of all processes, or of one.
Counted operands(const ProductGroup& group, const Product& product, const Witness& witness,
                 const Process* process = nullptr) {
  return [&group, product, witness, process](const std::string& name) -> Value {
    if (name == "operations") return product.operations();
    if (name == "line") return static_cast<double>(group.line());
    const Metrics& metrics = group.metrics(product);
    const auto all = metrics.find({witness, name});
    if (all == metrics.end() || !all->second.summary) return {};
    if (!process) return all->second.summary->value;
    const auto one = std::ranges::find(all->second.values, *process, &Repeated::process);
    return one == all->second.values.end() ? Value() : Value(one->value);
  };
}

bool is_possible(const MetricRow& row, double value) {
  return row.kind != Kind::share || (value >= 0 && value <= 1);
}

/// By how much the sampling errors of the operands of a modelled value may shift it: they add up at most.
double sampling_error(const ProductGroup& group, const Product& product, const Witness& witness,
                      const char* formula, double value) {
  const Counted counted = operands(group, product, witness);
  double sum = 0;
  for (const formula::Quantity& part : parse(formula).quantities) {
    const auto all = group.metrics(product).find({witness, part.name});
    if (all == group.metrics(product).end()) continue;
    double error = 0, shift = 0;
    for (const Repeated& one : all->second.values)
      error = std::max(error, one.error);
    for (const double end : {-error, error}) {
      const Value shifted = evaluate(formula, [&](const std::string& name) {
        const Value one = counted(name);
        return one && name == part.name ? Value(*one + end) : one;
      });
      shift = std::max(shift, std::abs(shifted.value_or(value) - value));
    }
    sum += shift;
  }
  return sum;
}

Quantity apply(const ProductGroup& group, const Product& product, const MetricRow& row, const char* formula,
               const Witness& witness, double value) {
  Quantity result{value, witness};
  result.repeatable = group.repeatable;
  Processes processes;
  for (const auto& [key, all] : group.metrics(product))
    if (key.first == witness)
      for (const Repeated& one : all.values)
        processes[one.process] |= !one.disturbances.empty();
  for (const auto& [process, disturbed] : processes)
    if (const Value one = evaluate(formula, operands(group, product, witness, &process))) {
      result.values.push_back(*one);
      if (!witness.modelled()) result.processes.emplace(process, disturbed);
    }
  if (result.values.empty() || group.statistic != statistics::Statistic::median) return result;
  const statistics::Summary s = statistics::summarise(result.values);
  const double error = sampling_error(group, product, witness, formula, value);
  result.low = std::min(value, s.low) - error;
  result.high = std::max(value, s.high) + error;
  if (row.kind == Kind::share) {
    result.low = std::max(0.0, result.low);
    result.high = std::min(1.0, result.high);
  }
  return result;
}

std::optional<Quantity> derive(const ProductGroup& group, const Product& product, const MetricRow& row,
                               const Witness& witness) {
  for (const char* formula : row.formulas)
    if (const Value value = evaluate(formula, operands(group, product, witness));
        value && is_possible(row, *value))
      return apply(group, product, row, formula, witness, *value);
  return {};
}

struct Absence {
  std::string text, reason;
};

/// Why a metric of a product has no value.
Absence find_absence(const ProductGroup& group, const Product& product, const std::string& name) {
  for (const auto& [key, all] : group.metrics(product))
    if (key.second == name && !all.summary && !all.reason.empty())
      return {key.first.modelled() ? "not determined" : group.absence(product), all.reason->text()};
  const MetricRow* const row = find_row(name);
  if (is_derived(row))
    for (const Witness& witness : group.witnesses)
      for (const char* formula : row->formulas) {
        const Counted counted = operands(group, product, witness);
        if (evaluate(formula, counted))
          return {"no rate",
                  std::string("the events count different accesses: ") + formula + " is not from 0 to 1"};
        if (std::ranges::all_of(parse(formula).quantities, [&](const formula::Quantity& part) {
              return part.name.empty() || counted(part.name);
            }))
          return {"divisor is 0", "divisor is 0"};
      }
  return {group.absence(product), group.absence(product)};
}

/// What a comparison of a metric is called.
std::string comparison_name(const std::string& metric) {
  if (metric == "seconds") return "speed-up by time";
  if (metric == "cpu_seconds") return "speed-up by CPU time";
  if (metric == "PAPI_TOT_CYC") return "speed-up by cycles";
  return metric.substr(0, 2) + " hit rate difference";
}

/// The quotient with the outermost ends of both intervals; nothing where a side is not above 0.
std::optional<Quantity> divide(const Quantity& a, const Quantity& b) {
  if (a.low <= 0 || b.low <= 0) return {};
  return Quantity{a.value / b.value, a.witness, a.low / b.high, a.high / b.low};
}

std::optional<Quantity> compare(const Quantity& product, const Quantity& reference, Kind kind) {
  std::optional<Quantity> result;
  if (kind == Kind::factor)
    result = divide(reference, product);
  else
    result = Quantity{product.value - reference.value, product.witness, product.low - reference.high,
                      product.high - reference.low};
  if (!result) return {};
  result->evidence = evidence(product, reference);
  result->repeatable = product.repeatable && reference.repeatable;
  result->compared = std::min(product.values.size(), reference.values.size());
  result->processes = product.processes;
  add_processes(result->processes, reference.processes);
  return result;
}

} // namespace

std::string describe(const Witness& witness) {
  if (!witness.modelled()) return base::format_witness(witness);
  if (model::without_modes(witness.machine()) == "host") return base::format_witness(Witness(Witness::model));
  std::string machine = witness.machine();
  if (const auto at = machine.find("~sample"); at != machine.npos) machine.erase(at, 7);
  return base::format_witness(Witness(Witness::model, machine));
}

std::string format(Kind kind, double value) {
  switch (kind) {
  case Kind::count: return base::format_millions(value);
  case Kind::per_thousand: return base::format_number(1000 * value);
  case Kind::share: return base::format_share(value);
  case Kind::points: return base::format_points(value);
  case Kind::place: return value < 0 ? "below" : value > 0 ? "above" : "inside";
  case Kind::factor: break;
  default: return base::format_number(value);
  }
  return format_factor(value) + " x";
}

std::string format_factor(double value) {
  const int places = value >= 9.95 ? 0 : value >= 1.095 ? 1 : value >= 0.095 ? 2 : 3;
  return fmt::format("{:.{}f}", value, places);
}

const std::vector<MetricRow>& metric_rows() {
  static const std::vector<MetricRow> rows{
      {"PAPI_L1_DCM", "L1 misses (10^6)"},
      {"LST", "loads + stores (10^6)", Kind::count, "", {"PAPI_LD_INS + PAPI_SR_INS", "PAPI_LST_INS"}},
      {"PAPI_TOT_CYC", "cycles (10^6)"},
      {"tsc_cycles", "TSC cycles (10^6)"},
      {"seconds", "elapsed time (s)", Kind::number, "s"},
      {"cpu_seconds", "CPU time (s)", Kind::number, "s"},
      {"L1_HIT_RATE",
       "L1 hit rate",
       Kind::share,
       "",
       {"1 - PAPI_L1_DCM / (PAPI_LD_INS + PAPI_SR_INS)", "1 - PAPI_L1_DCM / PAPI_LST_INS"}},
      // Misses of both levels contain page walks where a CPU counts them, accesses of loads and stores do
      // not.
      {"L2_HIT_RATE",
       "L2 hit rate",
       Kind::share,
       "",
       {"PAPI_L2_DCH / PAPI_L2_DCA", "1 - PAPI_L2_DCM / PAPI_L1_DCM", "1 - PAPI_L2_DCM / PAPI_L2_DCA"}},
      {"PAPI_L2_DCM", "L2 misses (10^6)"},
      {"IPC", "instructions per cycle", Kind::number, "", {"PAPI_TOT_INS / PAPI_TOT_CYC"}},
      {"L1_PER_FLOP", "L1 misses per operation", Kind::per_thousand, "", {"PAPI_L1_DCM / operations"}},
      {"L2_PER_FLOP", "L2 misses per operation", Kind::per_thousand, "", {"PAPI_L2_DCM / operations"}},
      {"INTENSITY",
       "operations per byte",
       Kind::number,
       "operations/B",
       {"operations / (PAPI_L2_DCM * line)"}},
      {"GFLOPS", "GFLOP/s", Kind::number, "GFLOP/s", {"operations / seconds / 1e9"}},
      {"GFLOPS_CPU", "GFLOP/s by CPU time", Kind::number, "GFLOP/s", {"operations / cpu_seconds / 1e9"}}};
  return rows;
}

std::optional<Quantity> quantity(const ProductGroup& group, const Product& product, const std::string& name,
                                 const Witness& witness) {
  const MetricRow* const row = find_row(name);
  if (is_tsc_cycles(name) && group.quantity(product, "PAPI_TOT_CYC")) return {}; // no cycles of the core
  if (!is_derived(row)) return group.quantity(product, name, witness);
  for (const Witness& one : witness.empty() ? group.witnesses : std::vector{witness})
    if (auto found = derive(group, product, *row, one)) return found;
  return {};
}

QuantityOf metric(const std::string& name, const Witness& witness) {
  return [=](const ProductGroup& group, const Product& product) {
    return quantity(group, product, name, witness);
  };
}

std::string time_metric(const ProductGroup& group, const Product& a, const Product& b) {
  bool disturbed = false, known = true;
  for (const Product* const product : {&a, &b}) {
    const auto elapsed = group.quantity(*product, "seconds");
    disturbed = disturbed || (elapsed && count_disturbed(elapsed->processes) > 0);
    known = known && group.quantity(*product, "cpu_seconds");
  }
  return disturbed && known ? "cpu_seconds" : "seconds";
}

bool Fact::decided() const {
  constexpr double equal = 0.02;
  if (!quantity || clear()) return true;
  return quantity->evidence == statistics::Evidence::overlap && quantity->low >= 1 - equal &&
         quantity->high <= 1 + equal;
}

std::string Fact::text() const {
  if (!quantity) return absence;
  return format(kind, value()) + (clear() ? "" : " ?");
}

std::string Fact::words() const {
  return clear() ? text() : fmt::format("about {} (not established)", format(kind, value()));
}

show::Datum Fact::datum() const {
  show::Datum datum{{{"machine", machine},
                     {"loops", loops_name(product)},
                     {"variant", product.variant},
                     {"build", product.build.empty() ? "plain" : product.build},
                     {"element", product.element},
                     {"n", std::to_string(product.n)},
                     {"block", product.block > 0 ? std::to_string(product.block) : ""},
                     {"transpose", product.variant != "transposed" ? ""
                                   : product.transposes            ? "included"
                                                                   : "excluded"}},
                    name};
  if (reference) datum.keys.emplace_back("compared with", loops_name(*reference));
  datum.reason = reason;
  if (!quantity) return datum;
  datum.witness = quantity->witness.name();
  datum.repetitions = std::max(quantity->values.size(), quantity->processes.size());
  datum.disturbed = count_disturbed(quantity->processes);
  datum.statistic = quantity->witness == Witness::published && quantity->values.size() < 2
                        ? "as published"
                        : statistics::name_of(statistic);
  datum.value = quantity->value;
  if (quantity->low < quantity->high) {
    datum.low = quantity->low;
    datum.high = quantity->high;
  }
  if (const MetricRow* const row = find_row(name)) datum.unit = row->unit;
  return datum;
}

Fact fact(const ProductGroup& group, const Product& product, const std::string& name,
          const Witness& witness) {
  const MetricRow* const row = find_row(name);
  Fact fact{group.machine, product, name, name};
  fact.statistic = group.statistic;
  fact.kind = row ? row->kind : Kind::count;
  fact.quantity = quantity(group, product, name, witness);
  if (!fact.quantity) {
    Absence why = find_absence(group, product, name);
    fact.absence = std::move(why.text);
    fact.reason = std::move(why.reason);
  }
  return fact;
}

Fact comparison(const ProductGroup& group, const Product& product, const Product& reference,
                const std::string& name) {
  Fact fact{group.machine, product, name, comparison_name(name), reference};
  fact.statistic = group.statistic;
  fact.kind = name.ends_with("_HIT_RATE") ? Kind::points : Kind::factor;
  const auto a = quantity(group, product, name);
  if (a && product != reference)
    for (const Witness& witness : group.witnesses)
      if (const auto b = same_witness(witness, a->witness) && !fact.quantity
                             ? quantity(group, reference, name, witness)
                             : std::nullopt)
        fact.quantity = compare(*a, *b, fact.kind);
  fact.absence = fact.quantity ? "" : "-";
  fact.reason = fact.quantity ? reservation(*fact.quantity) : group.absence(product);
  return fact;
}

Fact ratio(const Fact& a, const Fact& b) {
  Fact fact = a;
  fact.name = a.metric + ", quotient";
  if (b.known() && b.quantity->witness == Witness::published) fact.machine = b.machine;
  fact.kind = Kind::number;
  fact.quantity = a.quantity && b.quantity ? divide(*a.quantity, *b.quantity) : std::nullopt;
  fact.absence = fact.quantity ? "" : "-";
  return fact;
}

namespace {

/// What a value is of.
using Key = std::tuple<std::string, Product, std::string, std::optional<Product>, Witness>;

Key key_of(const Fact& fact, const std::string& name, const std::optional<Product>& reference = {}) {
  return {fact.machine, fact.product, name, reference, fact.quantity->witness};
}

bool is_close(double a, double b, double scale) {
  return std::abs(a - b) <= 1e-9 * std::abs(scale);
}

/// What is wrong with a fact beside the others; empty: nothing.
std::string contradiction(const Fact& fact, const std::map<Key, double>& values) {
  const Quantity& q = *fact.quantity;
  const auto find = [&](const Key& key) {
    const auto at = values.find(key);
    return at == values.end() ? Value() : Value(at->second);
  };
  if (!std::isfinite(q.value)) return "is not finite";
  if (!(q.low <= q.value && q.value <= q.high))
    return fmt::format("is outside its interval from {} to {}", q.low, q.high);
  if (fact.kind == Kind::share && (q.low < 0 || q.high > 1)) return "is outside 0 to 1";
  if (find(key_of(fact, fact.name, fact.reference)) != q.value) return "has another value elsewhere";
  if (fact.reference) {
    Fact other = fact;
    other.product = *fact.reference;
    const Value a = find(key_of(fact, fact.metric)), b = find(key_of(other, fact.metric));
    if (a && b && !is_close(q.value, fact.kind == Kind::factor ? *b / *a : *a - *b, std::max(1.0, q.value)))
      return fmt::format("does not follow from {} and {}", *a, *b);
  }
  if (fact.name == "L1_HIT_RATE") {
    const Value misses = find(key_of(fact, "PAPI_L1_DCM")), accesses = find(key_of(fact, "LST"));
    if (misses && accesses && !is_close(q.value * *accesses + *misses, *accesses, *accesses))
      return fmt::format("and {} misses are not {} accesses", *misses, *accesses);
  }
  return {};
}

} // namespace

void check_facts(const std::vector<Shown>& all) {
  std::map<Key, double> values;
  for (const auto& [place, fact] : all)
    if (fact.known()) values.emplace(key_of(fact, fact.name, fact.reference), fact.value());
  for (const auto& [place, fact] : all)
    if (fact.known())
      if (const std::string why = contradiction(fact, values); !why.empty())
        throw bad_input(
            fmt::format("{}: {} of {}, n = {}", place, fact.name, loops_name(fact.product), fact.product.n),
            fmt::format("{} {}", fact.value(), why), result::contradiction_fix);
}

} // namespace recount::matmul
