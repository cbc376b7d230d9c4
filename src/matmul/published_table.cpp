// A published table compared with the results of recount for the same products.
#include "base/format.hpp"
#include "matmul/cells.hpp"
#include "matmul/derived.hpp"
#include "matmul/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::matmul {
namespace {

std::string ratio_text(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

std::string named(const Product& product) {
  return loops_name(product);
}

/// The group that holds the model's answer for the machine of a table.
const Products* modelled_by(const std::vector<Products>& all, const std::string& witness) {
  for (const Products& group : all)
    for (const auto& [product, metrics] : group.of)
      for (const auto& [who, values] : metrics)
        if (same_witness(who.first, witness) && values.summary) return &group;
  return nullptr;
}

std::optional<Quantity> over(const std::optional<Quantity>& a, const std::optional<Quantity>& b) {
  if (!a || !b || b->low <= 0) return {};
  return Quantity{a->value / b->value, a->witness, a->low / b->high, a->high / b->low};
}

struct Beside {
  const Products& table;
  const std::vector<Products>& all;
  const Products* modelled;
  std::string witness;

  [[nodiscard]] std::optional<Quantity> of_model(const Product& p, const std::string& metric,
                                                 const std::string& part = "") const {
    if (!modelled) return {};
    const auto at = modelled->of.find(p);
    return at == modelled->of.end() ? std::nullopt : central(at->second, metric, witness + part);
  }
  [[nodiscard]] std::optional<Quantity> of_table(const Product& p, const std::string& metric) const {
    const auto at = table.of.find(p);
    return at == table.of.end() ? std::nullopt : central(at->second, metric);
  }
  /// Of the first machine that recount ran them on.
  [[nodiscard]] std::optional<Quantity> own_seconds(const Product& p) const {
    for (const Products& group : all)
      if (!group.published)
        if (const auto own = seconds(group, p)) return own;
    return {};
  }
};

/// Whether a published value is within the predicted range: -1 below, 0 inside, 1 above. Nothing where the
/// prediction is one value.
std::optional<Quantity> place_in_range(const std::optional<Quantity>& model,
                                       const std::optional<Quantity>& table) {
  if (!model || !table || model->low == model->high) return {};
  return Quantity{table->value < model->low ? -1.0 : table->value > model->high ? 1.0 : 0.0, model->witness};
}

std::string place_text(double place) {
  return place < 0 ? "below" : place > 0 ? "above" : "inside";
}

std::vector<document::Block> tables_of(const Beside& beside, const std::vector<Product>& products) {
  const std::vector<Lead> leads{{"loops", named},
                                {"n", [](const Product& p) { return std::to_string(p.n); }}};
  std::vector<document::Block> blocks;
  const std::string machine = described_machine(beside.witness).value_or("");
  const auto in_range = [&beside](const char* metric) {
    return Measure{"published value in the predicted range",
                   [&beside, metric](const Product& p) {
                     return place_in_range(beside.of_model(p, metric), beside.of_table(p, metric));
                   },
                   place_text};
  };
  document::append(
      blocks, down("L1 data-cache misses (10^6): published, and modelled for " + machine, leads, products,
                   {{"published", [&](const Product& p) { return beside.of_table(p, "PAPI_L1_DCM"); },
                     base::format_millions},
                    {"model", [&](const Product& p) { return beside.of_model(p, "PAPI_L1_DCM"); },
                     base::format_millions},
                    {"model / published",
                     [&](const Product& p) {
                       return over(beside.of_model(p, "PAPI_L1_DCM"), beside.of_table(p, "PAPI_L1_DCM"));
                     },
                     ratio_text},
                    in_range("PAPI_L1_DCM"),
                    {"model without TLB / published",
                     [&](const Product& p) {
                       return over(beside.of_model(p, "PAPI_L1_DCM", "~no-tlb"),
                                   beside.of_table(p, "PAPI_L1_DCM"));
                     },
                     ratio_text}}));
  document::append(
      blocks, down("L2 data-cache misses (10^6): published, and modelled for loads, stores and page walks",
                   leads, products,
                   {{"published", [&](const Product& p) { return beside.of_table(p, "PAPI_L2_DCM"); },
                     base::format_millions},
                    {"model", [&](const Product& p) { return beside.of_model(p, "PAPI_L2_DCM"); },
                     base::format_millions},
                    in_range("PAPI_L2_DCM"),
                    {"published / published L1",
                     [&](const Product& p) {
                       return over(beside.of_table(p, "PAPI_L2_DCM"), beside.of_table(p, "PAPI_L1_DCM"));
                     },
                     ratio_text}}));
  document::append(
      blocks,
      down("Time (s): published, and on this machine", leads, products,
           {{"published", [&](const Product& p) { return seconds(beside.table, p); }, base::format_seconds},
            {"published GFLOP/s", [&](const Product& p) { return derived(beside.table, p, "GFLOPS"); },
             base::format_number},
            {"here", [&](const Product& p) { return beside.own_seconds(p); }, base::format_seconds},
            {"published / here",
             [&](const Product& p) { return over(seconds(beside.table, p), beside.own_seconds(p)); },
             ratio_text}}));
  return blocks;
}

} // namespace

std::vector<document::Block> published(const std::vector<Products>& all) {
  std::vector<document::Block> blocks;
  for (const Products& table : all) {
    if (!table.published || !table.run) continue;
    const auto& versions = table.run->versions;
    blocks.emplace_back(document::Heading{"Published: " + versions.at("published"), 2});
    if (const auto source = versions.find("source"); source != versions.end())
      blocks.emplace_back(document::Paragraph{source->second});
    std::string witness;
    if (const auto machine = versions.find("machine"); machine != versions.end())
      witness = "model:" + machine->second;
    const Products* const modelled = witness.empty() ? nullptr : modelled_by(all, witness);
    std::vector<Product> products;
    for (const auto& [product, metrics] : table.of)
      products.push_back(product);
    std::ranges::sort(products, [](const Product& a, const Product& b) {
      return std::tuple(a.block > 0, a.build, a.variant, a.n, a.block) <
             std::tuple(b.block > 0, b.build, b.variant, b.n, b.block);
    });
    document::append(blocks, tables_of({table, all, modelled, witness}, products));
    if (!modelled)
      blocks.emplace_back(document::Paragraph{
          "There is no model of its machine to compare with: name one with --published-machine."});
  }
  return blocks;
}

} // namespace recount::matmul
