// What a reader should know before anything else.
#include "matmul/derived.hpp"
#include "base/format.hpp"
#include "report/whole.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace recount::report {
namespace {

using namespace analysis;

const Product* fastest(const Products& group, const std::vector<const Product*>& among) {
  const Product* best = nullptr;
  double least = 0;
  for (const Product* product : among) {
    const auto time = seconds(group, *product);
    if (!time || (best && time->value >= least)) continue;
    best = product;
    least = time->value;
  }
  return best;
}

/// The products of doubles in plain C++ at the largest size at which `simple` ran: who is fastest, and how
/// much.
std::string doubles_in_short(const Products& group) {
  const Product* simple = nullptr;
  for (const auto& [product, metrics] : group.of)
    if (product.element == "f64" && product.variant == "ijk" && product.build.empty() &&
        seconds(group, product) && (!simple || product.n > simple->n))
      simple = &product;
  if (!simple) return {};
  std::vector<const Product*> others;
  for (const auto& [product, metrics] : group.of)
    if (product.element == "f64" && product.n == simple->n && product.build.empty() &&
        product.variant != "dgemm" && &product != simple)
      others.push_back(&product);
  const Product* const best = fastest(group, others);
  if (!best) return {};
  const Comparison c = compare(group, *best, *simple);
  if (!c.by_time) return {};
  std::string text = fmt::format(
      "Doubles, n = {}: {} is the fastest of the plain loops, {} faster than simple ({} s "
      "against {} s, {})",
      simple->n, loops_name(*best), show_times(c.by_time->value), show_seconds(seconds(group, *best)->value),
      show_seconds(seconds(group, *simple)->value), show_witness(c.by_time->witness));
  if (c.l1)
    text += fmt::format("; its L1 hit rate differs by {} points ({})", show_points(c.l1->value),
                        show_witness(c.l1->witness));
  return text + ".";
}

std::string laboratory_in_short(const Products& group) {
  const Product* first = nullptr;
  for (const auto& [product, metrics] : group.of)
    if (product.element == "i16" && product.variant == "ijk-mem" && product.build.empty() &&
        seconds(group, product))
      first = &product;
  if (!first) return {};
  std::vector<std::string> parts;
  for (const auto& [product, metrics] : group.of) {
    if (product.element != "i16" || product.n != first->n || !product.build.empty() || &product == first)
      continue;
    const Comparison c = compare(group, product, *first);
    if (!c.by_time) continue;
    std::string part = fmt::format("{}: {}", loops_name(product), show_times(c.by_time->value));
    if (c.l1)
      part +=
          fmt::format(" (L1 hit rate {} points, {})", show_points(c.l1->value), show_witness(c.l1->witness));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return {};
  return fmt::format("16-bit integers, n = {}, faster than the straightforward product by time: {}.",
                     first->n, fmt::join(parts, "; "));
}

/// What stands behind numbers of cache misses: counters or the model.
std::string misses_in_short(const result::Results& results) {
  std::set<std::string> counted, modelled;
  for (const auto& o : results.observations) {
    if (o.value.index() == 0 || (!o.metric.starts_with("PAPI_L1") && !o.metric.starts_with("PAPI_L2")))
      continue;
    if (o.witness.starts_with("model"))
      modelled.insert(o.witness.substr(0, o.witness.find('~')));
    else if (o.witness != "published")
      counted.insert(o.witness);
  }
  if (!counted.empty()) return fmt::format("Cache misses were counted by {}.", fmt::join(counted, " and "));
  if (modelled.empty()) return {};
  return "Cache misses were not counted here; those in this report are modelled, and called so.";
}

} // namespace

std::vector<std::string> in_short(const std::vector<Part>& parts) {
  std::vector<std::string> all;
  const bool several = std::ranges::count(parts, false, &Part::published) > 1;
  for (const Part& part : parts) {
    if (part.published) continue;
    const std::string where = several ? part.machine + ": " : std::string();
    const auto groups = products(*part.results);
    for (const Products& group : groups)
      for (const std::string& text : {laboratory_in_short(group), doubles_in_short(group)})
        if (!text.empty()) all.push_back(where + text);
    if (const std::string text = misses_in_short(*part.results); !text.empty()) all.push_back(where + text);
  }
  return all;
}

} // namespace recount::report
