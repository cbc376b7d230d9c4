// Remarks on contradictory counts, and on speed-ups that hit rates do not explain.
#include "base/format.hpp"
#include "matmul/derived.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

namespace recount::matmul {
namespace {

/// Native events that count more than demand accesses.
struct TermRow {
  const char *event, *counts;
};
constexpr std::array term_rows{
    TermRow{"LLC_REFERENCES",
            "counts every request of the core to the last level, including speculation and hardware "
            "prefetches (Intel 64 and IA-32 Architectures Software Developer's "
            "Manual, volume 3, architectural event Last Level Cache References)"},
    TermRow{"LAST_LEVEL_CACHE_REFERENCES",
            "counts every request of the core to the last level, including hardware prefetches"},
    TermRow{"L2_RQSTS:MISS", "counts requests of the L2 prefetcher and of L1"},
    TermRow{"L2_LINES_IN", "counts every line brought into L2, including prefetches"},
    TermRow{"L2_TRANS", "counts every L2 transaction, including prefetches and write-backs"},
    TermRow{"L1D:REPLACEMENT",
            "counts lines that are brought into L1: for loads and stores, for page walks and for the L1 "
            "prefetcher, but not what the L2 prefetcher fetches into L2"},
};

struct Excess {
  Product product;
  std::string witness;
  double l1 = 0, l2 = 0;
};

std::string place_of(const Product& product) {
  return fmt::format("{}, n = {}", loops_name(product), product.n);
}

std::string explained(const Products& group, const std::string& preset) {
  if (!group.run) return {};
  const auto note = group.run->presets.find(preset);
  if (note == group.run->presets.end()) return {};
  std::string text = fmt::format(" On this CPU {} = {}.", preset, note->second);
  for (const TermRow& row : term_rows)
    if (note->second.find(row.event) != std::string::npos)
      text += fmt::format(" The event {} {}.", row.event, row.counts);
  return text;
}

} // namespace

std::vector<Remark> misses_out_of_order(const Products& group, const Products* modelled,
                                        const std::string& model) {
  constexpr double excess_share = 1.02; // counts of different passes differ a little
  std::vector<Excess> found;
  std::size_t compared = 0;
  for (const auto& [product, metrics] : group.of)
    for (const std::string witness : {"perf", "papi", "published"}) {
      const auto l1 = central(metrics, "PAPI_L1_DCM", witness), l2 = central(metrics, "PAPI_L2_DCM", witness);
      if (!l1 || !l2) continue;
      ++compared;
      if (l2->value > excess_share * l1->value && evidence(*l1, *l2) == statistics::Evidence::clear)
        found.push_back({product, witness, l1->value, l2->value});
    }
  if (found.empty()) return {};
  Remark remark;
  remark.title = "More misses in L2 than in L1";
  remark.text = fmt::format("In {} of {} PAPI_L2_DCM is larger than PAPI_L1_DCM. Only accesses that miss in "
                            "L1 reach L2, so PAPI_L2_DCM counts more than demand misses here.",
                            found.size(), base::format_count(compared, "product"));
  const std::string l2 = explained(group, "PAPI_L2_DCM");
  remark.text += l2.empty() ? " The results do not contain the formula of the preset; for any CPU, run "
                              "recount presets PAPI_L2_DCM "
                              "--pmu NAME."
                            : l2;
  remark.text += explained(group, "PAPI_L1_DCM");
  remark.text += " The ratio of L2 misses to L1 misses has no meaning here.";
  for (const Excess& e : found) {
    std::string line = fmt::format("{}: {} million in L2, {} million in L1 ({}), {}", place_of(e.product),
                                   base::format_millions(e.l2), base::format_millions(e.l1),
                                   base::format_times(e.l2 / e.l1), base::format_witness(e.witness));
    if (modelled) {
      const auto at = modelled->of.find(e.product);
      if (at != modelled->of.end())
        if (const auto demand = central(at->second, "PAPI_L2_DCM", model))
          line += fmt::format("; without a prefetcher {} million, {}", base::format_millions(demand->value),
                              base::format_witness(model));
    }
    remark.evidence.push_back(line);
  }
  return {remark};
}

namespace {

/// The products that a product is compared with: the one before it in the course of the study.
std::vector<Product> compared_with(const Product& product) {
  const auto as = [&](const char* variant) {
    Product other = product;
    other.variant = variant;
    other.block = 0;
    other.transposes = false;
    return other;
  };
  if (product.element == "i16") {
    if (product.variant == "transposed") return {as("ijk-mem")};
    if (product.variant == "blocked") return {as("ijk-mem"), as("transposed")};
    return {};
  }
  if (product.variant == "ikj") return {as("ijk")};
  if (product.variant == "blocked") return {as("ikj")};
  return {};
}

std::string why_faster(const Products& group, const Product& a, const Product& b,
                       const std::string& witness) {
  const auto l2_a = derived(group, a, "L2_HIT_RATE", witness),
             l2_b = derived(group, b, "L2_HIT_RATE", witness);
  const auto far_a = derived(group, a, "L2_PER_FLOP", witness),
             far_b = derived(group, b, "L2_PER_FLOP", witness);
  if (!l2_a || !l2_b || !far_a || !far_b) return "L2 was not counted, so the cause is unknown.";
  const std::string rates = fmt::format(
      "{} of the L1 misses hit in L2 ({} in the other product), so that {} of 1000 operations miss in L2 "
      "({} in the other product)",
      base::format_share(l2_a->value), base::format_share(l2_b->value),
      base::format_number(1000 * far_a->value), base::format_number(1000 * far_b->value));
  if (evidence(*far_a, *far_b) != statistics::Evidence::clear)
    return "The L2 misses of both products are not distinguishable from noise, so the cause is open.";
  if (far_a->value < far_b->value) return "L2 serves the misses: " + rates + ".";
  return "L2 does not explain it either: " + rates +
         ". Remaining causes that these events do not count: prefetching, overlap of accesses, and the "
         "number of "
         "instructions.";
}

} // namespace

std::vector<Remark> faster_with_fewer_hits(const Products& group) {
  std::vector<Remark> all;
  for (const auto& [product, metrics] : group.of)
    for (const Product& other : compared_with(product)) {
      const Comparison c = compare(group, product, other);
      if (!c.by_time || !c.l1 || c.by_time->value <= 1 || c.l1->value >= 0) continue;
      if (!c.by_time->clear() || !c.l1->clear()) {
        all.push_back(undecided(fmt::format("{} of {} compared with {}, n = {}",
                                            c.by_time->clear() ? "L1 hit rate" : "time", loops_name(product),
                                            loops_name(other), product.n),
                                c.by_time->clear() ? *c.l1 : *c.by_time));
        continue;
      }
      Remark remark;
      remark.title = fmt::format("{} is faster than {} with a lower L1 hit rate, n = {}", loops_name(product),
                                 loops_name(other), product.n);
      remark.text =
          fmt::format("It is {} faster ({}), though its L1 hit rate is {} points lower ({}). {}",
                      base::format_times(c.by_time->value), base::format_witness(c.by_time->witness),
                      base::format_number(-100 * c.l1->value), base::format_witness(c.l1->witness),
                      why_faster(group, product, other, c.l1->witness));
      all.push_back(std::move(remark));
    }
  return all;
}

std::vector<Remark> transposition(const Products& group) {
  std::vector<Remark> all;
  for (const auto& [with, metrics] : group.of) {
    if (!with.transposes || !with.build.empty()) continue;
    Product without = with;
    without.transposes = false;
    const auto a = seconds(group, with), b = seconds(group, without);
    const double share = 2.0 / (4.0 * static_cast<double>(with.n)); // 2 n^2 of 4 n^3 accesses
    Remark remark;
    remark.title = fmt::format("Effect of including the transposition, n = {}", with.n);
    remark.text = fmt::format("It adds 2 n^2 loads and stores to the 4 n^3 of the product, {:.3f} % of them.",
                              100 * share);
    const Comparison c = compare(group, with, without);
    if (a && b && c.by_time)
      remark.text +=
          fmt::format(" With it the product took {} s, without it {} s: {}.", base::format_seconds(a->value),
                      base::format_seconds(b->value),
                      c.by_time->clear() ? fmt::format("{:+.1f} %", 100 * (a->value / b->value - 1))
                                         : reservation(*c.by_time));
    const auto misses = derived(group, with, "L1_PER_FLOP"), fewer = derived(group, without, "L1_PER_FLOP");
    if (c.l1 && misses && fewer && c.l1->clear())
      remark.text += fmt::format(
          " It adds {} million L1 misses ({}), because b is read by columns once; the hit rate changes "
          "by {} points.",
          base::format_millions((misses->value - fewer->value) * with.operations()),
          base::format_witness(c.l1->witness), base::format_points(c.l1->value));
    else if (c.l1)
      remark.text += fmt::format(" L1 hit rates: {}.", reservation(*c.l1));
    remark.text +=
        " Its cost grows with n^2, that of the product with n^3. A comparison with another product must "
        "include it.";
    all.push_back(std::move(remark));
  }
  return all;
}

} // namespace recount::matmul
