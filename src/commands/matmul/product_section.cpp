// The products in a report: their section, lines of the summary, part of the method, and all values.
#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "commands/matmul/matmul_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace recount::matmul {
namespace {

using Blocks = std::vector<document::Block>;

Blocks products_section(const document::Material& material) {
  return product_blocks(
      group_products(material.results),
      [&](Blocks& blocks, const ProductGroup& group, const std::vector<const char*>& figures) {
        const auto part = std::ranges::find_if(material.parts, [&](const document::Part& one) {
          return one.machine == group.machine && !one.published;
        });
        for (const char* figure : figures)
          material.gallery.add(blocks, figure,
                               part == material.parts.end()
                                   ? document::Part{"", false, document::unowned(material.results)}
                                   : *part);
      },
      material.full);
}

/// Every value of every repetition, with its statistic and interval, as a file.
Blocks values_section(const document::Material& material) {
  Blocks tables;
  for (const ProductGroup& group : group_products(material.results)) {
    show::Table table({}, "all values of products: " + group.machine);
    table.file = "products";
    for (const auto& [product, metrics] : group.products)
      for (const auto& [key, all] : metrics) {
        if (!all.summary) continue;
        show::Datum datum = fact(group, product, key.second, key.first).datum();
        for (const Repeated& one : all.values) {
          show::Datum single = datum.with("value", one.value);
          single.keys.emplace_back("repetition", std::to_string(one.process.repetition + 1));
          single.repetitions = 1;
          single.disturbed = one.disturbances.empty() ? 0 : 1;
          table.data.push_back(std::move(single));
        }
        datum.keys.emplace_back("repetition", "");
        if (all.values.size() > 1) table.data.push_back(std::move(datum));
      }
    if (!table.data.empty()) tables.emplace_back(std::move(table));
  }
  return tables;
}

/// One line on all products.
std::vector<std::string> summary(const document::Part& part) {
  std::vector<std::string> all;
  if (part.published) return all;
  for (const ProductGroup& group : group_products(*part.results))
    for (const auto& [element, reference] : {std::pair("i16", "ijk-mem"), {"f64", "ijk"}})
      if (const auto answer = answer_speed_ups(group, element, reference))
        all.push_back(fmt::format("{}: {}.", answer->question, answer->value));
  if (all.empty()) return all;
  return {fmt::format("{}", fmt::join(all, " "))};
}

Blocks method(const result::Results& results) {
  Blocks blocks;
  const auto groups = group_products(results);
  if (std::ranges::all_of(groups, [](const auto& g) { return g.published || g.products.empty(); }))
    return blocks;
  show::Table derived({{""}, {"formula"}}, "Derived quantities; all parts of a ratio come from one witness");
  for (const auto& row : metric_rows())
    if (!row.formulas.empty())
      derived.rows.push_back({row.label, fmt::format("{}", fmt::join(row.formulas, ", else "))});
  derived.rows.push_back(
      {"difference in hit rate", "difference from the other product, in percentage points"});
  derived.rows.push_back(
      {"speed-up", "time (or cycles) of the other product / time (or cycles) of this product"});
  blocks.emplace_back(std::move(derived));
  std::map<std::string, std::string> formulas;
  for (const auto& group : groups)
    if (!group.published && group.run) formulas.insert(group.run->presets.begin(), group.run->presets.end());
  show::Table presets({{"preset"}, {"formula"}}, "Presets in terms of native events of this CPU");
  for (const auto& [preset, formula] : formulas)
    presets.rows.push_back({preset, formula});
  if (!presets.rows.empty()) blocks.emplace_back(std::move(presets));
  return blocks;
}

} // namespace

Blocks product_blocks(const std::vector<ProductGroup>& groups, const AddFigures& add_figures, bool full) {
  Page page;
  const auto add = [&](const std::string& title, const ProductGroup& group,
                       const std::vector<const char*>& figures, const auto& add_tables) {
    Page tables;
    add_tables(tables);
    if (tables.blocks.empty()) return;
    Blocks pictures;
    if (add_figures) add_figures(pictures, group, figures);
    // In the short form figures follow the words, and tables the figures.
    tables.blocks.insert(full ? tables.blocks.end() : std::next(tables.blocks.begin()), pictures.begin(),
                         pictures.end());
    document::append(page.blocks, document::under(title, std::move(tables.blocks)));
    std::ranges::move(tables.shown, std::back_inserter(page.shown));
  };
  const bool several = std::ranges::count(groups, false, &ProductGroup::published) > 1;
  for (const ProductGroup& group : groups) {
    if (group.published) continue;
    const bool named = several || (group.run && host::is_emulated(group.run->cpu));
    const std::string suffix = named ? ": " + group.machine : "";
    add("Products of 16-bit integers" + suffix, group, {"matmul-lab"},
        [&](Page& tables) { full ? add_laboratory(tables, group) : add_averages(tables, group, "i16"); });
    std::vector<const char*> figures{"matmul-time", "matmul-gflops", "matmul-blocks", "matmul-block-misses"};
    if (full) figures.insert(figures.end(), {"matmul-misses", "matmul-speed-up", "matmul-roofline"});
    add("Products of doubles" + suffix, group, figures,
        [&](Page& tables) { full ? add_doubles(tables, group) : add_averages(tables, group, "f64"); });
  }
  add("Published values compared with the model", {}, {"matmul-published"},
      [&](Page& tables) { add_published(tables, groups, full); });
  constexpr std::size_t max_short = 10;
  std::vector<std::string> sentences;
  for (const Finding& finding : findings(groups))
    sentences.push_back(finding.text);
  if (!full && sentences.size() > max_short) {
    const std::size_t more = sentences.size() - max_short;
    sentences.resize(max_short);
    sentences.push_back(base::format_count(more, "more comment") + " with recount report --full.");
  }
  Blocks comments;
  if (!sentences.empty()) comments.emplace_back(document::List{std::move(sentences)});
  document::append(comments, page.notes());
  document::append(page.blocks, document::under("Comments", std::move(comments)));
  return std::move(page.blocks);
}

std::vector<document::Section> product_sections() {
  return {{"matrix products", products_section, summary, method}, {"", values_section, {}, {}, true}};
}

} // namespace recount::matmul
