#include "matmul/matmul_sections.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "matmul/derived.hpp"
#include "matmul/matmul_tables.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::matmul {
namespace {

using Blocks = std::vector<document::Block>;

/// A section of tables followed by these figures; nothing without tables.
void add_section(Blocks& blocks, const std::string& title, Blocks tables, const document::Part& part,
                 document::Gallery& gallery, const std::vector<const char*>& figures) {
  if (tables.empty()) return;
  for (const char* figure : figures)
    if (auto picture = gallery.add(figure, part)) tables.emplace_back(std::move(*picture));
  document::append(blocks, document::under(title, std::move(tables)));
}

Blocks products_section(const document::Material& material) {
  Blocks blocks;
  const bool several = std::ranges::count(material.parts, false, &document::Part::published) > 1;
  for (const document::Part& part : material.parts) {
    if (part.published) continue;
    const std::string suffix = several ? ": " + part.machine : std::string();
    for (const ProductGroup& group : group_products(*part.results)) {
      add_section(blocks, "Products of 16-bit integers" + suffix, laboratory_tables(group), part,
                  material.gallery, {"matmul-lab"});
      add_section(blocks, "Products of doubles" + suffix, doubles_tables(group), part, material.gallery,
                  {"matmul-time", "matmul-gflops", "matmul-misses", "matmul-hit-rates", "matmul-speed-up",
                   "matmul-blocks", "matmul-block-misses", "matmul-roofline"});
    }
  }
  const auto groups = group_products(material.results);
  add_section(blocks, "Published values compared with the model", published_tables(groups),
              {"", false, document::unowned(material.results)}, material.gallery, {"matmul-published"});
  document::append(blocks, document::under("Comments", remark_blocks(groups)));
  return blocks;
}

Blocks values_section(const document::Material& material) {
  Blocks tables;
  for (const ProductGroup& group : group_products(material.results)) {
    Blocks values = all_values(group);
    for (document::Block& block : values)
      if (auto* table = std::get_if<document::Table>(&block)) table->caption += ": " + group.machine;
    document::append(tables, std::move(values));
  }
  return document::under("All values", std::move(tables));
}

/// With its range where it allows no conclusion; else why it is not stated.
std::string speed_up_text(const Quantity& factor) {
  if (factor.clear()) return base::format_times(factor.value);
  if (!factor.shown()) return reservation(factor);
  return fmt::format("{} [{:.2f}, {:.2f}] ({})", base::format_times(factor.value), factor.low, factor.high,
                     reservation(factor));
}

/// The speed-ups of the plain products of an element at the largest size at which `reference` was timed.
std::string speed_ups(const ProductGroup& group, const std::string& element, const std::string& reference) {
  const Product* first = nullptr;
  std::vector<std::string> parts;
  const auto plain = [&](const Product& p) { return p.element == element && p.build.empty(); };
  for (const auto& [product, metrics] : group.products) // by ascending size
    if (plain(product) && product.variant == reference && seconds(group, product)) first = &product;
  if (!first) return {};
  for (const auto& [product, metrics] : group.products)
    if (plain(product) && product.n == first->n && &product != first)
      if (const auto factor = speed_up(group, product, *first))
        parts.push_back(loops_name(product) + ": " + speed_up_text(*factor));
  if (parts.empty()) return {};
  return fmt::format("Products of {}, n = {}, speed-up over {} by time: {}.",
                     element == "i16" ? "16-bit integers" : "doubles", first->n, loops_name(*first),
                     fmt::join(parts, "; "));
}

std::vector<std::string> summary(const document::Part& part) {
  std::vector<std::string> all;
  if (part.published) return all;
  for (const ProductGroup& group : group_products(*part.results))
    for (const std::string& text : {speed_ups(group, "i16", "ijk-mem"), speed_ups(group, "f64", "ijk")})
      if (!text.empty()) all.push_back(text);
  return all;
}

Blocks method(const result::Results& results) {
  Blocks blocks;
  const auto groups = group_products(results);
  if (std::ranges::all_of(groups, [](const auto& g) { return g.published || g.products.empty(); }))
    return blocks;
  document::Table derived{"Derived quantities; all parts of a ratio come from one witness",
                          {{"", false}, {"formula", false}},
                          {}};
  for (const auto& row : derivations())
    derived.rows.push_back({row.label, fmt::format("{}", fmt::join(row.formulas, ", else "))});
  derived.rows.push_back(
      {"difference in hit rate", "difference from the other product, in percentage points"});
  derived.rows.push_back(
      {"speed-up", "time (or cycles) of the other product / time (or cycles) of this product"});
  blocks.emplace_back(std::move(derived));
  std::map<std::string, std::string> formulas;
  for (const auto& group : groups)
    if (!group.published && group.run) formulas.insert(group.run->presets.begin(), group.run->presets.end());
  document::Table presets{
      "Presets in terms of native events of this CPU", {{"preset", false}, {"formula", false}}, {}};
  for (const auto& [preset, formula] : formulas)
    presets.rows.push_back({preset, formula});
  if (!presets.rows.empty()) blocks.emplace_back(std::move(presets));
  return blocks;
}

} // namespace

std::vector<document::Section> product_sections() {
  return {{"matrix products", products_section, summary, method}, {"", values_section, {}, {}, true}};
}

} // namespace recount::matmul
