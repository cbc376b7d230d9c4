#include "matmul/derived.hpp"

#include <algorithm>
#include <array>
#include <map>
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

WitnessValues values_of(const Metrics& metrics, const std::string& witness) {
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
                                   const std::string& witness) {
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
                                const std::string& witness) {
  const auto* const row = std::ranges::find_if(
      derivation_rows, [&](const Derivation& derivation) { return derivation.name == name; });
  if (row == derivation_rows.end()) throw std::out_of_range("no derived metric " + name);
  std::vector<std::string> who{witness};
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
  if (auto counted = central(metrics, "PAPI_TOT_CYC"); counted && counted->witness.find("model") != 0)
    return counted;
  return central(metrics, "tsc_cycles", "clock");
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

} // namespace recount::matmul
