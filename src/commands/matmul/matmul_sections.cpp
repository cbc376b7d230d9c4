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

// The products in the report of recount laboratory: tables, and an answer of a line for each question.

namespace {

using document::Answer;

/// An answer of a line, from the facts that are known.
struct AnswerLine {
  std::vector<std::string> parts;
  std::vector<Fact> facts;

  void add(const Fact& fact, const std::string& before, const std::string& after) {
    if (!fact.known()) return;
    parts.push_back(before + fact.text() + after);
    facts.push_back(fact);
  }
};

/// "2.8 x by time, L1 hits +24.33 points", "2.8 x, cycles 2.7 x, L1 hits +24.33 points".
AnswerLine comparison_line(const ProductGroup& group, const Product& product, const Product& reference) {
  AnswerLine line;
  const std::string time = time_metric(group, product, reference);
  const Fact cycles = comparison(group, product, reference, "PAPI_TOT_CYC");
  line.add(comparison(group, product, reference, time), "",
           cycles.known()      ? ""
           : time == "seconds" ? " by time"
                               : " by CPU time");
  line.add(cycles, "cycles ", "");
  line.add(comparison(group, product, reference, "L1_HIT_RATE"), "L1 hits ", " points");
  return line;
}

/// "16.86 M misses, L1 hits 74.88 %, 3.73 s".
AnswerLine own_line(const ProductGroup& group, const Product& product) {
  AnswerLine line;
  line.add(fact(group, product, "PAPI_L1_DCM"), "", " M misses");
  line.add(fact(group, product, "L1_HIT_RATE"), "L1 hits ", "");
  const std::string time = time_metric(group, product, product);
  line.add(fact(group, product, time), "", time == "seconds" ? " s" : " s CPU");
  return line;
}

constexpr const char *all_products = "Products of 16-bit integers",
                     *against_transposed = "Compared with the transposed one";

Product without_copy(Product product) {
  product.transposes = false;
  return product;
}

/// All products in one table, and what is compared with the transposed product in another.
void add_products(Page& page, const ProductGroup& group, const Laboratory& lab) {
  const auto add = [&](const char* caption, const std::vector<Product>& products, const Product& reference,
                       bool own) {
    std::vector<Column> columns;
    if (own)
      for (const auto& [label, name] : {std::pair("L1 misses (10^6)", "PAPI_L1_DCM"),
                                        {"loads + stores (10^6)", "LST"},
                                        {"cycles (10^6)", "PAPI_TOT_CYC"},
                                        {"elapsed time (s)", "seconds"},
                                        {"CPU time (s)", "cpu_seconds"},
                                        {"L1 hit rate", "L1_HIT_RATE"},
                                        {"L2 hit rate", "L2_HIT_RATE"}})
        columns.push_back(
            {label, [name](const ProductGroup& of, const Product& p) { return fact(of, p, name); }});
    for (const auto& [label, name] : {std::pair("difference of L1 hit rates", "L1_HIT_RATE"),
                                      {"difference of L2 hit rates", "L2_HIT_RATE"},
                                      {"speed-up by time", "seconds"},
                                      {"speed-up by CPU time", "cpu_seconds"},
                                      {"speed-up by cycles", "PAPI_TOT_CYC"}})
      columns.push_back({label, [name, reference](const ProductGroup& of, const Product& p) {
                           return comparison(of, p, reference, name);
                         }});
    page.add_table(group, fmt::format("{}, n = {}", caption, reference.n), {{"", loops_name}}, products,
                   columns, Page::Direction::across);
  };
  std::vector<Product> products{lab.first}, others = lab.blocked;
  for (const auto* more : {&lab.in_register, &lab.transposed, &lab.blocked})
    products.insert(products.end(), more->begin(), more->end());
  add(all_products, products, lab.first, true);
  for (const Product& product : lab.transposed)
    if (product.transposes) others.insert(others.begin(), product);
  if (!lab.transposed.empty()) add(against_transposed, others, without_copy(lab.transposed.front()), false);
}

/// An answer of a line for each question.
std::vector<Answer> answer_laboratory(const ProductGroup& group, const Laboratory& lab) {
  std::vector<Answer> all;
  const auto add = [&](const std::string& question, const AnswerLine& line, const char* table) {
    Answer& answer = all.emplace_back(Answer{question, fmt::format("{}", fmt::join(line.parts, ", "))});
    if (answer.value.empty()) answer.reason = "not measured";
    answer.proof = fmt::format("{}, n = {}", table, lab.first.n);
    state_confidence(answer, line.facts);
    answer.open = !std::ranges::all_of(line.facts, &Fact::clear);
  };
  add("3.2.1 " + loops_name(lab.first), own_line(group, lab.first), all_products);
  for (const Product& product : lab.transposed)
    add(product.transposes ? "3.2.2 transposed + copy" : "3.2.2 transposed",
        comparison_line(group, product, lab.first), all_products);
  for (const Product& product : lab.transposed)
    if (product.transposes)
      add("3.2.2 effect of the copy", comparison_line(group, product, without_copy(product)),
          against_transposed);
  for (const Product& product : lab.blocked) {
    add("3.2.3 " + loops_name(product), comparison_line(group, product, lab.first), all_products);
    if (!lab.transposed.empty())
      add("3.2.3 against transposed", comparison_line(group, product, without_copy(lab.transposed.front())),
          against_transposed);
  }
  AnswerLine pair; // the cause is a sentence below the tables
  for (const Finding& finding : findings({group}))
    if (finding.title == faster_with_fewer_hits) {
      pair.parts = {loops_name(finding.products.front()) + " than " + loops_name(finding.products.back())};
      add("3.2.3 fewer hits, faster", pair, against_transposed);
    }
  if (pair.parts.empty()) {
    pair.parts = {"none is established"};
    add("3.2.3 fewer hits, faster", pair, against_transposed);
  }
  return all;
}

std::vector<Answer> laboratory_answers(const document::Part& part) {
  std::vector<Answer> all;
  for (const ProductGroup& group : group_products(*part.results))
    for (const Laboratory& lab : laboratories(group))
      if (!group.published) std::ranges::move(answer_laboratory(group, lab), std::back_inserter(all));
  return all;
}

std::vector<document::Block> write_laboratory(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts)
    for (const ProductGroup& group : group_products(*part.results)) {
      Page page;
      for (const Laboratory& lab : laboratories(group))
        add_products(page, group, lab);
      if (page.blocks.empty()) continue;
      document::append(blocks, std::move(page.blocks));
      std::vector<std::string> sentences;
      for (const Finding& finding : findings({group}))
        if (finding.title == faster_with_fewer_hits || finding.title == cost_of_transposition)
          sentences.push_back(finding.text);
      if (!sentences.empty()) blocks.emplace_back(document::List{std::move(sentences)});
      document::append(blocks, page.notes());
    }
  return document::under("Products of 16-bit integers (3.2)", std::move(blocks));
}

} // namespace

document::Section laboratory_section() {
  return {"matrix products", write_laboratory, {}, {}, false, laboratory_answers};
}

} // namespace recount::matmul
