// The products in the report of recount laboratory: tables, and an answer of a line for each question.
#include "commands/matmul/matmul_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::matmul {
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
