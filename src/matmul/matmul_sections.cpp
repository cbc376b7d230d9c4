#include "matmul/matmul_sections.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "matmul/derived.hpp"
#include "model/machine.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

// The matrix-multiplication study in a report: tables, figures and sentences.
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
    return o.witness != Witness::published && product_of(o.kernel, o.params).has_value();
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

// Remarks on all products of all machines.
namespace {

/// The model witnesses of a group that are whole machines, not comparisons.
std::vector<Witness> models_of(const Products& group) {
  std::vector<Witness> names;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, values] : metrics)
      if (who.first.modelled() && !values.for_comparison &&
          std::ranges::find(names, who.first) == names.end())
        names.push_back(who.first);
  return names;
}

/// The described machine of a study that nobody measured; empty where there is another witness.
std::string only_machine(const Products& group) {
  std::string only;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, values] : metrics) {
      const auto described = who.first.described_machine();
      if (!described) return {};
      const std::string name = described->substr(0, described->find('~'));
      if (!only.empty() && name != only) return {};
      only = name;
    }
  return only;
}

void take_machine(Capacities& into, const model::MachineDescription& machine) {
  into.levels.clear();
  for (const auto& level : machine.levels)
    into.levels.push_back({level.name, level.size});
  into.line = machine.levels.front().line;
  if (machine.tlb && !machine.tlb->levels.empty()) {
    into.page = machine.tlb->page;
    into.tlb_pages = machine.tlb->levels.back().entries;
  }
}

std::vector<Remark> remarks_of(const std::vector<Products>& all, const Products& group) {
  std::vector<Remark> made;
  const auto add = [&](std::vector<Remark> more) {
    for (Remark& remark : more)
      made.push_back(std::move(remark));
  };
  // The model of the machine of this group: its own, or the described machine of a published table.
  const Products* modelled = &group;
  Witness model = Witness::model;
  if (group.published && group.run) {
    const auto machine = group.run->versions.find("machine");
    model.detail = machine == group.run->versions.end() ? "unknown" : machine->second;
    for (const Products& other : all) {
      const auto models = models_of(other);
      if (std::ranges::find(models, model) != models.end()) modelled = &other;
    }
  }
  const Capacities machine = capacities_of(group);
  add(misses_out_of_order(group, modelled, model));
  if (group.published)
    for (const Products& other : all)
      for (const auto& witness : models_of(other))
        if (const auto by = model::shipped_machine(witness.machine()))
          add(parts_of_presets(group, other, witness, *by));
  add(transposition(group));
  add(faster_with_fewer_hits(group));
  add(cliffs(group, *modelled, model, machine));
  if (!group.published)
    for (const auto& witness : models_of(group))
      add(conflicts(group, witness));
  add(languages(group));
  add(blocks_that_fit(group, machine));
  add(odd_ones(group));
  return made;
}

} // namespace

Capacities capacities_of(const Products& group) {
  Capacities capacities;
  capacities.machine = "this machine";
  if (!group.run) return capacities;
  for (const auto& cache : group.run->caches)
    capacities.levels.push_back({cache.level, cache.size});
  capacities.line = group.line();
  const auto stated = group.run->versions.find("machine");
  const std::string named = stated == group.run->versions.end() ? only_machine(group) : stated->second;
  if (named.empty() || named == "host") return capacities;
  capacities.machine = named;
  if (const auto known = model::shipped_machine(named)) take_machine(capacities, *known);
  return capacities;
}

Remark undecided(const std::string& what, const Quantity& comparison) {
  Remark remark;
  remark.undecided = true;
  remark.evidence.push_back(fmt::format("{}: {}", what, reservation(comparison)));
  return remark;
}

std::vector<document::Block> remarks(const std::vector<Products>& all) {
  std::vector<document::Block> blocks;
  std::vector<std::string> open;
  for (const Products& group : all)
    for (const Remark& remark : remarks_of(all, group)) {
      if (remark.undecided) {
        open.insert(open.end(), remark.evidence.begin(), remark.evidence.end());
        continue;
      }
      blocks.emplace_back(document::Heading{remark.title, 2});
      blocks.emplace_back(document::Paragraph{remark.text});
      if (!remark.evidence.empty()) blocks.emplace_back(document::List{remark.evidence});
    }
  if (open.empty()) return blocks;
  blocks.emplace_back(document::Heading{"Differences that are not stated", 2});
  blocks.emplace_back(document::Paragraph{fmt::format(
      "A difference is stated only if the 95 % intervals of both medians are disjoint and Welch's "
      "t test rejects equality at the level {}.",
      statistics::comparison_level)});
  blocks.emplace_back(document::List{std::move(open)});
  return blocks;
}

} // namespace recount::matmul
