#include "matmul/derived.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace recount::matmul {
namespace {

using Value = std::optional<double>;

Value counted(const Products& group, const Product& product, const char* metric, const std::string& witness) {
  const auto at = group.of.find(product);
  if (at == group.of.end()) return {};
  const auto found = at->second.find({witness, metric});
  if (found == at->second.end() || !found->second.summary) return {};
  return found->second.summary->mean;
}

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

#define RECOUNT_OF [](const Products& group, const Product& product, const std::string& witness) -> Value
#define RECOUNT_COUNT(metric) counted(group, product, metric, witness)

const std::array derivation_rows{
    Derivation{"LST", "loads and stores", "PAPI_LD_INS + PAPI_SR_INS, else PAPI_LST_INS",
               RECOUNT_OF{const Value both = sum(RECOUNT_COUNT("PAPI_LD_INS"), RECOUNT_COUNT("PAPI_SR_INS"));
return both ? both : RECOUNT_COUNT("PAPI_LST_INS");
} // namespace
, true
} // namespace recount::matmul
, Derivation{"L1_HIT_RATE", "L1 hit rate", "1 - PAPI_L1_DCM / loads and stores",
             RECOUNT_OF{Value both = sum(RECOUNT_COUNT("PAPI_LD_INS"), RECOUNT_COUNT("PAPI_SR_INS"));
if (!both) both = RECOUNT_COUNT("PAPI_LST_INS");
return one_less(ratio(RECOUNT_COUNT("PAPI_L1_DCM"), both));
}
, true
}
, Derivation{"L2_HIT_RATE", "L2 hit rate", "PAPI_L2_DCH / PAPI_L2_DCA, else 1 - PAPI_L2_DCM / PAPI_L2_DCA",
             RECOUNT_OF{const Value hits = ratio(RECOUNT_COUNT("PAPI_L2_DCH"), RECOUNT_COUNT("PAPI_L2_DCA"));
return hits ? hits : one_less(ratio(RECOUNT_COUNT("PAPI_L2_DCM"), RECOUNT_COUNT("PAPI_L2_DCA")));
}
, true
}
, Derivation{"IPC", "instructions per cycle", "PAPI_TOT_INS / PAPI_TOT_CYC",
             RECOUNT_OF{return ratio(RECOUNT_COUNT("PAPI_TOT_INS"), RECOUNT_COUNT("PAPI_TOT_CYC"));
}
, true
}
, Derivation{"L1_PER_FLOP", "L1 misses per operation", "PAPI_L1_DCM / 2 n^3",
             RECOUNT_OF{return ratio(RECOUNT_COUNT("PAPI_L1_DCM"), product.operations());
}
, true
}
, Derivation{"L2_PER_FLOP", "L2 misses per operation", "PAPI_L2_DCM / 2 n^3",
             RECOUNT_OF{return ratio(RECOUNT_COUNT("PAPI_L2_DCM"), product.operations());
}
, true
}
, Derivation{"INTENSITY", "operations per byte", "2 n^3 / (PAPI_L2_DCM * bytes of a line)",
             RECOUNT_OF{const Value lines = RECOUNT_COUNT("PAPI_L2_DCM");
return lines ? ratio(product.operations(), *lines* static_cast<double>(group.line())) : Value();
}
, true
}
, Derivation{"GFLOPS", "GFLOP/s", "2 n^3 / seconds / 10^9",
             RECOUNT_OF{return ratio(product.operations() / 1e9, RECOUNT_COUNT("seconds"));
}
, false
}
,
}
;

#undef RECOUNT_COUNT
#undef RECOUNT_OF

const Metrics& metrics_of(const Products& group, const Product& product) {
  static const Metrics none;
  const auto at = group.of.find(product);
  return at == group.of.end() ? none : at->second;
}

/// b / a: how many times faster a is.
std::optional<Quantity> faster(const std::optional<Quantity>& a, const std::optional<Quantity>& b) {
  if (!a || !b || a->value <= 0 || a->witness != b->witness) return {};
  return Quantity{b->value / a->value, a->witness};
}

std::optional<Quantity> delta(const Products& group, const Product& product, const Product& other,
                              const char* name) {
  const auto a = derived(group, product, name);
  if (!a) return {};
  const auto b = derived(group, other, name, a->witness);
  if (!b) return {};
  return Quantity{a->value - b->value, a->witness};
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
    if (const auto value = row->of(group, product, name_of_witness)) return Quantity{*value, name_of_witness};
  return {};
}

std::optional<Quantity> cycles(const Products& group, const Product& product) {
  const Metrics& metrics = metrics_of(group, product);
  if (auto counted = mean(metrics, "PAPI_TOT_CYC"); counted && counted->witness.find("model") != 0)
    return counted;
  return mean(metrics, "tsc_cycles", "clock");
}

std::optional<Quantity> seconds(const Products& group, const Product& product) {
  return mean(metrics_of(group, product), "seconds");
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
