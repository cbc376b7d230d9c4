// The questions of the studies of matrix products, answered from the cells of their tables.
#include "base/format.hpp"
#include "base/witness.hpp"
#include "matmul/derived.hpp"
#include "matmul/matmul_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace recount::matmul {
namespace {

using document::Answer;

/// How far a value can be relied upon, in the order of the words.
enum class Trust { high, medium, low, modelled };

Trust trust_in(const Quantity& quantity, bool comparison) {
  if (quantity.witness.modelled()) return Trust::modelled;
  const std::size_t repetitions = comparison ? quantity.compared : quantity.values.size();
  if (repetitions < statistics::least_compared) return Trust::low;
  return quantity.disturbed > 0 ? Trust::medium : Trust::high;
}

/// The least trust in measured numbers, and whether some are modelled.
std::string confidence_text(std::set<Trust> all) {
  constexpr const char* texts[] = {"high", "medium", "low"};
  const bool modelled = all.erase(Trust::modelled) > 0;
  if (all.empty()) return modelled ? "modelled" : "";
  return texts[static_cast<std::size_t>(*all.rbegin())] + std::string(modelled ? ", partly modelled" : "");
}

/// Collects the numbers of one answer, and why others are missing.
class AnswerText {
public:
  explicit AnswerText(const ProductGroup& group) : group_(group) {}

  /// The number as in its cell, without its interval. An absent comparison is left out.
  void add(const Measure& measure, const Product& product, const std::string& before = {}) {
    const auto quantity = measure.quantity(group_, product);
    if (!quantity) {
      if (!measure.comparison) missing_[absence_reason(group_, product, measure.name)].insert(measure.label);
    } else if (!quantity->clear()) {
      missing_[reservation(*quantity)].insert(before + measure.label);
    } else {
      parts_.push_back(fmt::format("{}{} {}", before, measure.label, measure.format(quantity->value)));
      trust_.insert(trust_in(*quantity, measure.comparison));
    }
  }
  [[nodiscard]] Answer answer(std::string question, std::string proof, std::string cells) const {
    Answer answer{std::move(question)};
    answer.value = fmt::format("{}", fmt::join(parts_, "; "));
    std::vector<std::string> reasons;
    for (const auto& [reason, labels] : missing_)
      reasons.push_back(fmt::format("{}: {}", fmt::join(labels, ", "), reason));
    answer.reason = fmt::format("{}", fmt::join(reasons, "; "));
    if (parts_.empty()) return answer;
    answer.proof = std::move(proof);
    answer.cells = std::move(cells);
    answer.confidence = confidence_text(trust_);
    return answer;
  }

private:
  const ProductGroup& group_;
  std::vector<std::string> parts_;
  std::map<std::string, std::set<std::string>> missing_; ///< labels by reason
  std::set<Trust> trust_;
};

/// The products of one size of the laboratory.
struct Laboratory {
  Product first;
  std::vector<Product> transposed, blocked;
};

std::vector<Laboratory> laboratories(const ProductGroup& group) {
  std::vector<Laboratory> all;
  for (const auto& [first, metrics] : group.products) {
    if (first.element != "i16" || first.variant != "ijk-mem" || !first.build.empty()) continue;
    Laboratory& one = all.emplace_back();
    one.first = first;
    for (const auto& [p, of] : group.products)
      if (p.element == first.element && p.n == first.n && p.build.empty()) {
        if (p.variant == "transposed") one.transposed.push_back(p);
        if (p.variant == "blocked") one.blocked.push_back(p);
      }
  }
  return all;
}

Answer answer_sizes(const ProductGroup& group, const Product& first) {
  const auto bytes = first.n * first.n * first.element_bytes();
  return {fmt::format("Size of a matrix, and elements per line; n = {}", first.n),
          fmt::format("{} bytes ({}); {} elements per line of {} bytes", bytes, base::format_bytes(bytes),
                      group.line() / first.element_bytes(), group.line()),
          {},
          {},
          {},
          "computed"};
}

/// Misses, loads and stores, cycles, time and hit rate of one product.
Answer answer_counts(const ProductGroup& group, const Product& product, int step) {
  AnswerText text(group);
  for (const Measure& measure : laboratory_measures())
    if (measure.quantity(group, product) || !measure.name.starts_with("tsc")) text.add(measure, product);
  return text.answer(
      fmt::format("{}. {}: misses, loads and stores, cycles, time, hit rate", step, loops_name(product)),
      laboratory_caption(step, product.n), "column " + loops_name(product));
}

/// `suffix`: of the labels in the table.
Answer answer_comparison(const ProductGroup& group, const Product& product, const Product& reference,
                         int step, const std::string& suffix) {
  AnswerText text(group);
  const auto same = [&](const Product&) { return product; };
  const auto other = [&](const Product&) { return reference; };
  for (const Measure& measure : comparisons(other, suffix, same))
    text.add(measure, product);
  const bool last = step == 4;
  return text.answer(fmt::format("{} against {}: difference in hit rates, speed-up", loops_name(product),
                                 loops_name(reference)),
                     laboratory_caption(step, product.n, loops_name(product)),
                     "column " + loops_name(last ? reference : product));
}

/// The L2 hit rates of both, which may explain why the first is faster.
std::string l2_rates_text(const ProductGroup& group, const Product& product, const Product& reference,
                          const Witness& witness) {
  const auto here = derived(group, product, "L2_HIT_RATE", witness),
             there = derived(group, reference, "L2_HIT_RATE", witness);
  if (!here || !there) return "L2 hit rates were not counted";
  return fmt::format("L2 hit rates {} and {}", base::format_share(here->value),
                     base::format_share(there->value));
}

/// Products that are faster with a lower hit rate of L1, and the hit rates of L2 beside.
Answer answer_faster(const ProductGroup& group, const Laboratory& lab) {
  Answer answer{fmt::format("Faster with a lower L1 hit rate, and why; n = {}", lab.first.n)};
  std::vector<std::string> found;
  std::set<Trust> trust;
  std::size_t compared = 0;
  const auto compare = [&](const Product& product, const Product& reference) {
    const auto time = speed_up(group, product, reference),
               rate = difference(group, product, reference, "L1_HIT_RATE");
    if (!time || !rate || !time->clear() || !rate->clear()) return;
    ++compared;
    trust.insert({trust_in(*time, true), trust_in(*rate, true)});
    if (time->value > 1 && rate->value < 0)
      found.push_back(fmt::format("{} against {} ({})", loops_name(product), loops_name(reference),
                                  l2_rates_text(group, product, reference, rate->witness)));
  };
  for (const Product& product : lab.transposed)
    compare(product, lab.first);
  for (const Product& product : lab.blocked) {
    compare(product, lab.first);
    for (const Product& reference : lab.transposed)
      compare(product, reference);
  }
  if (compared == 0) {
    answer.reason = "no two products differ clearly both in time and in L1 hit rate";
    return answer;
  }
  answer.value = found.empty()
                     ? fmt::format("no product, of {}", base::format_count(compared, "comparison"))
                     : fmt::format("{}. The section Comments has the share of L2", fmt::join(found, "; "));
  answer.confidence = confidence_text(trust);
  return answer;
}

/// The transposed product with the transposition in the measurement against without.
Answer answer_transposition(const ProductGroup& group, const Laboratory& lab) {
  const std::string question = fmt::format("What including the transposition changes; n = {}", lab.first.n);
  const auto with = std::ranges::find(lab.transposed, true, &Product::transposes);
  const auto without = std::ranges::find(lab.transposed, false, &Product::transposes);
  if (with == lab.transposed.end() || without == lab.transposed.end())
    return {question, {}, "the transposed product was not measured both with and without it"};
  AnswerText text(group);
  for (const Measure& measure : comparisons([&](const Product&) { return *without; }))
    text.add(measure, *with, "with it, ");
  return text.answer(question, laboratory_caption(2, lab.first.n), "both columns");
}

/// Every plain product of doubles against simple, at the largest size at which it was timed.
void add_doubles(std::vector<Answer>& all, const ProductGroup& group) {
  const Product* first = nullptr;
  for (const auto& [product, metrics] : group.products) // by ascending size
    if (product.element == "f64" && product.variant == "ijk" && product.build.empty() &&
        seconds(group, product))
      first = &product;
  if (!first) return;
  AnswerText text(group);
  for (const auto& [product, metrics] : group.products)
    if (product.element == "f64" && product.build.empty() && product.n == first->n && product != *first)
      text.add(comparisons([&](const Product&) { return *first; })[0], product, loops_name(product) + ": ");
  Answer answer =
      text.answer(fmt::format("Products of doubles, n = {}: speed-up over {}", first->n, loops_name(*first)),
                  times_caption, fmt::format("row {}", first->n));
  if (!answer.value.empty() || !answer.reason.empty()) all.push_back(std::move(answer));
}

} // namespace

std::vector<Answer> answer_products(const ProductGroup& group) {
  std::vector<Answer> all;
  if (group.published) return all;
  for (const Laboratory& lab : laboratories(group)) {
    all.push_back(answer_sizes(group, lab.first));
    all.push_back(answer_counts(group, lab.first, 1));
    for (const Product& product : lab.transposed)
      all.push_back(answer_counts(group, product, 2));
    for (const Product& product : lab.transposed)
      all.push_back(answer_comparison(group, product, lab.first, 2, " vs 1"));
    all.push_back(answer_transposition(group, lab));
    for (const Product& product : lab.blocked) {
      all.push_back(answer_counts(group, product, 3));
      all.push_back(answer_comparison(group, product, lab.first, 3, " vs 1"));
      for (const Product& reference : lab.transposed)
        all.push_back(answer_comparison(group, product, reference, 4, ""));
    }
    all.push_back(answer_faster(group, lab));
  }
  add_doubles(all, group);
  return all;
}

} // namespace recount::matmul
