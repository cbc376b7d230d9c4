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
  line.add(fact(group, product, "seconds"), "", " s");
  return line;
}

constexpr const char *all_products = "Products of 16-bit integers",
                     *against_transposed = "Compared with the transposed one";

Product without_copy(Product product) {
  product.transposes = false;
  return product;
}

/// A column for the fact of each product, or for its comparison with a product.
Column column_of(const std::string& label, const char* name) {
  return {label, [name](const ProductGroup& group, const Product& p) { return fact(group, p, name); }};
}
Column compared(const std::string& label, const char* name, const Product& reference) {
  return {label, [name, reference](const ProductGroup& group, const Product& p) {
            return comparison(group, p, reference, name);
          }};
}

std::vector<Column> comparisons(const Product& reference, const std::string& suffix) {
  return {compared("difference of L1 hit rates" + suffix, "L1_HIT_RATE", reference),
          compared("difference of L2 hit rates" + suffix, "L2_HIT_RATE", reference),
          compared("speed-up" + suffix + " by time", "seconds", reference),
          compared("speed-up" + suffix + " by CPU time", "cpu_seconds", reference),
          compared("speed-up" + suffix + " by cycles", "PAPI_TOT_CYC", reference)};
}

/// All products in one table, and the block compared with the transposed product in another.
void add_products(Page& page, const ProductGroup& group, const Laboratory& lab) {
  const std::vector<Page::Key> keys{{"", loops_name}};
  std::vector<Product> products{lab.first};
  for (const auto* more : {&lab.in_register, &lab.transposed, &lab.blocked})
    products.insert(products.end(), more->begin(), more->end());
  std::vector<Column> columns{
      column_of("L1 misses (10^6)", "PAPI_L1_DCM"), column_of("loads + stores (10^6)", "LST"),
      column_of("cycles (10^6)", "PAPI_TOT_CYC"),   column_of("elapsed time (s)", "seconds"),
      column_of("CPU time (s)", "cpu_seconds"),     column_of("L1 hit rate", "L1_HIT_RATE"),
      column_of("L2 hit rate", "L2_HIT_RATE")};
  const std::string at = fmt::format(", n = {}", lab.first.n);
  const auto over_first = comparisons(lab.first, "");
  columns.insert(columns.end(), over_first.begin(), over_first.end());
  page.add_table(group, all_products + at, keys, products, columns, Page::Direction::across);
  for (const Product& product : lab.transposed)
    if (product != without_copy(product))
      page.add_table(group, against_transposed + at, keys, {product, lab.blocked.front()},
                     comparisons(without_copy(product), ""), Page::Direction::across);
}

/// An answer of a line for each question.
class LaboratoryAnswers {
public:
  LaboratoryAnswers(const ProductGroup& group, const Laboratory& lab) : group_(group), lab_(lab) {}
  std::vector<Answer> build() && {
    add("3.2.1 " + loops_name(lab_.first), own_line(group_, lab_.first));
    for (const Product& product : lab_.transposed)
      add(product.transposes ? "3.2.2 transposed + copy" : "3.2.2 transposed",
          comparison_line(group_, product, lab_.first));
    for (const Product& product : lab_.transposed)
      if (product.transposes)
        add("3.2.2 effect of the copy", comparison_line(group_, product, without_copy(product)),
            against_transposed);
    for (const Product& product : lab_.blocked) {
      add("3.2.3 " + loops_name(product), comparison_line(group_, product, lab_.first));
      for (const Product& other : lab_.transposed)
        if (!other.transposes)
          add("3.2.3 against transposed", comparison_line(group_, product, other), against_transposed);
    }
    AnswerLine cause;
    for (const Finding& finding : findings({group_}))
      if (finding.title == faster_with_fewer_hits) cause.parts.push_back(finding.text);
    if (cause.parts.empty()) cause.parts.emplace_back("none");
    add("3.2.3 faster, fewer L1 hits", cause, against_transposed);
    return std::move(all_);
  }

private:
  void add(const std::string& question, const AnswerLine& line, const std::string& table = all_products) {
    Answer& answer = all_.emplace_back(Answer{question, fmt::format("{}", fmt::join(line.parts, ", "))});
    if (answer.value.empty()) answer.reason = "not measured";
    answer.proof = fmt::format("{}, n = {}", table, lab_.first.n);
    answer.confidence = confidence_text(line.facts);
  }

  const ProductGroup& group_;
  const Laboratory& lab_;
  std::vector<Answer> all_;
};

std::vector<Answer> laboratory_answers(const document::Part& part) {
  std::vector<Answer> all;
  for (const ProductGroup& group : group_products(*part.results))
    for (const Laboratory& lab : laboratories(group))
      if (!group.published) std::ranges::move(LaboratoryAnswers(group, lab).build(), std::back_inserter(all));
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
