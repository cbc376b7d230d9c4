// The matrix-multiplication study in a report: tables, figures and sentences.
#include "base/format.hpp"
#include "matmul/derived.hpp"
#include "matmul/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::matmul {
namespace {

struct FigureRow {
  const char *section, *figure;
};
/// The figures of each section, in order.
constexpr FigureRow figure_rows[] = {
    {"laboratory", "matmul-lab"},      {"doubles", "matmul-time"},         {"doubles", "matmul-gflops"},
    {"doubles", "matmul-misses"},      {"doubles", "matmul-hit-rates"},    {"doubles", "matmul-speed-up"},
    {"doubles", "matmul-blocks"},      {"doubles", "matmul-block-misses"}, {"doubles", "matmul-roofline"},
    {"published", "matmul-published"},
};

void add_figures(std::vector<document::Block>& blocks, const std::string& section, const document::Part& part,
                 document::Gallery& gallery) {
  for (const FigureRow& row : figure_rows)
    if (section == row.section)
      if (auto picture = gallery.add(row.figure, part)) blocks.emplace_back(std::move(*picture));
}

/// A section of tables followed by their figures.
void products_section(std::vector<document::Block>& blocks, const std::string& title,
                      const std::string& section, std::vector<document::Block> tables,
                      const document::Part& part, document::Gallery& gallery) {
  if (tables.empty()) return;
  add_figures(tables, section, part, gallery);
  document::append(blocks, document::under(title, std::move(tables)));
}

std::vector<document::Block> write_products(const document::Material& material) {
  std::vector<document::Block> blocks;
  const bool several = std::ranges::count(material.parts, false, &document::Part::published) > 1;
  for (const document::Part& part : material.parts) {
    if (part.published) continue;
    const std::string of = several ? ": " + part.machine : std::string();
    for (const Products& group : products(*part.results)) {
      products_section(blocks, "Products of 16-bit integers" + of, "laboratory", laboratory(group), part,
                       material.gallery);
      products_section(blocks, "Products of doubles" + of, "doubles", matmul_tables(group), part,
                       material.gallery);
    }
  }
  const auto groups = products(material.results);
  const document::Part everything{"", false, document::unowned(material.results)};
  products_section(blocks, "Published values compared with the model", "published", published(groups),
                   everything, material.gallery);
  document::append(blocks, document::under("Comments", remarks(groups)));
  return blocks;
}

/// All values of all products, as an appendix.
std::vector<document::Block> write_values(const document::Material& material) {
  std::vector<document::Block> tables;
  for (const Products& group : products(material.results)) {
    auto made = all_values(group);
    for (document::Block& block : made)
      if (auto* table = std::get_if<document::Table>(&block)) table->caption += ": " + group.machine;
    document::append(tables, std::move(made));
  }
  return document::under("All values", std::move(tables));
}

/// By time, ascending.
std::vector<const Product*> by_time(const Products& group, std::vector<const Product*> among) {
  std::erase_if(among, [&](const Product* product) { return !seconds(group, *product); });
  std::ranges::stable_sort(among, {},
                           [&](const Product* product) { return seconds(group, *product)->value; });
  return among;
}

/// With its range where it allows no conclusion; else why it is not stated.
std::string speed_up(const Quantity& ratio) {
  if (ratio.clear()) return base::format_times(ratio.value);
  if (!ratio.shown()) return reservation(ratio);
  return fmt::format("{} [{:.2f}, {:.2f}] ({})", base::format_times(ratio.value), ratio.low, ratio.high,
                     reservation(ratio));
}

/// The products of doubles in plain C++ at the largest size at which `simple` ran: who is fastest, and how
/// much.
std::string doubles_summary(const Products& group) {
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
  others = by_time(group, std::move(others));
  if (others.empty()) return {};
  const Product& best = *others.front();
  const Comparison c = compare(group, best, *simple);
  if (!c.by_time) return {};
  const std::string of = fmt::format("Products of doubles, n = {}: ", simple->n);
  if (!c.by_time->clear() && c.by_time->shown())
    return of + fmt::format("{}: speed-up over simple by time: {}.", loops_name(best), speed_up(*c.by_time));
  if (!c.by_time->clear())
    return of + fmt::format("the times of {} and simple are {}.", loops_name(best), reservation(*c.by_time));
  std::string rank = "is the fastest of the plain loops,";
  if (others.size() > 1) {
    const auto next = compare(group, best, *others[1]).by_time;
    if (!next || !next->clear())
      rank = "and " + loops_name(*others[1]) + " are the fastest of the plain loops; the first is";
  }
  std::string text = of + fmt::format("{} {} {} faster than simple ({} s, simple {} s, {})", loops_name(best),
                                      rank, base::format_times(c.by_time->value),
                                      base::format_seconds(seconds(group, best)->value),
                                      base::format_seconds(seconds(group, *simple)->value),
                                      base::format_witness(c.by_time->witness));
  if (c.l1 && c.l1->clear())
    text += fmt::format("; its L1 hit rate differs by {} points ({})", base::format_points(c.l1->value),
                        base::format_witness(c.l1->witness));
  return text + ".";
}

std::string laboratory_summary(const Products& group) {
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
    std::string part = fmt::format("{}: {}", loops_name(product), speed_up(*c.by_time));
    if (c.l1 && c.l1->clear())
      part += fmt::format(" (L1 hit rate {} points, {})", base::format_points(c.l1->value),
                          base::format_witness(c.l1->witness));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return {};
  return fmt::format("16-bit integers, n = {}, speed-up over the straightforward product by time: {}.",
                     first->n, fmt::join(parts, "; "));
}

std::vector<std::string> summary(const document::Part& part) {
  std::vector<std::string> all;
  if (part.published) return all;
  for (const Products& group : products(*part.results))
    for (const std::string& text : {laboratory_summary(group), doubles_summary(group)})
      if (!text.empty()) all.push_back(text);
  return all;
}

bool any_products(const result::Results& results) {
  return std::ranges::any_of(results.observations, [](const auto& o) {
    return o.witness != "published" && product_of(o.kernel, o.params).has_value();
  });
}

std::vector<document::Block> formulas(const result::Results& results) {
  std::vector<document::Block> blocks;
  if (!any_products(results)) return blocks;
  document::Table table{"Derived quantities; all parts of a ratio come from one witness",
                        {{"", false}, {"formula", false}},
                        {}};
  for (const auto& row : derivations())
    table.rows.push_back({row.label, row.form});
  table.rows.push_back({"difference in hit rate", "difference from the other product, in percentage points"});
  table.rows.push_back(
      {"speed-up", "time (or cycles) of the other product / time (or cycles) of this product"});
  blocks.emplace_back(std::move(table));
  std::map<std::string, std::string> presets;
  for (const auto& run : results.runs)
    if (!run.versions.contains("published")) presets.insert(run.presets.begin(), run.presets.end());
  document::Table presets_table{
      "Presets in terms of native events of this CPU", {{"preset", false}, {"formula", false}}, {}};
  for (const auto& [preset, formula] : presets)
    presets_table.rows.push_back({preset, formula});
  if (!presets_table.rows.empty()) blocks.emplace_back(std::move(presets_table));
  return blocks;
}

} // namespace

std::vector<document::Section> product_sections() {
  return {{"matrix products", write_products, summary, formulas}, {"", write_values, {}, {}, true}};
}

} // namespace recount::matmul
