// The caches that recount caches infers from the readings of each node, as quantities to compare.
#include "compare/inferred.hpp"

#include "caches/infer/inference.hpp"
#include "caches/infer/record.hpp"

#include <algorithm>

namespace recount::compare {
namespace {

/// One run infers a property once: its interval is that of the inference, not of repetitions.
void add_property(std::map<std::string, Quantity>& all, const std::string& level, const std::string& witness,
                  const caches::Property& property, std::size_t node, std::size_t nodes) {
  if (!property.value && property.unknown.empty()) return;
  const std::string metric = level + ' ' + property.name;
  Quantity& quantity = all.try_emplace(witness + ' ' + metric).first->second;
  if (quantity.nodes.empty())
    quantity = {"caches", witness, metric, property.unit, {}, 1, std::vector<OnNode>(nodes), 0, {}};
  OnNode& on = quantity.nodes[node];
  on.measured = true;
  if (!property.value) {
    on.reason = property.unknown;
    return;
  }
  const double low = *property.value * (1 - property.tolerance),
               high = *property.value * (1 + property.tolerance);
  on.low = on.values.empty() ? low : std::min(on.low, low);
  on.high = on.values.empty() ? high : std::max(on.high, high);
  on.values.push_back(*property.value);
}

} // namespace

std::vector<Quantity> inferred_quantities(const result::Results& results,
                                          const std::map<std::string, std::size_t>& nodes,
                                          std::size_t count) {
  std::map<std::string, Quantity> all;
  for (const result::Run& run : results.runs) {
    const auto node = nodes.find(run.id);
    if (node == nodes.end() || !result::is_inference(run)) continue;
    caches::RecordSampler sampler(results, run);
    const caches::Caches found = caches::infer_caches(sampler);
    const auto add = [&](const std::string& level, caches::Property property, bool shared = false) {
      if (shared && property.unit != "ns") {
        property.value.reset();
        property.unknown = "others used a part of the level during the measurement";
      }
      add_property(all, level, found.witness, property, node->second, count);
    };
    for (const auto& level : found.levels)
      for (const auto* property : {&level.capacity, &level.line, &level.ways, &level.latency})
        add(level.name, *property, !level.shared_use.empty() && property != &level.line);
    for (const auto& tlb : found.tlbs)
      add(tlb.name, tlb.entries);
    add("memory", found.memory);
  }
  std::vector<Quantity> quantities;
  for (auto& [key, quantity] : all)
    quantities.push_back(std::move(quantity));
  return quantities;
}

} // namespace recount::compare
