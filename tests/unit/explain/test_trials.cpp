// Hypotheses about machines against tables that the model counted.
#include "commands/explain/explanation.hpp"
#include "tables.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <random>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(trials)

namespace {

/// A table of simple and line as a machine would count it, each value times its factor.
template <class Factor>
std::string table_of(Predictor& predictor, const std::string& machine, Factor&& factor,
                     const std::vector<std::int64_t>& sizes = {600, 1000, 1400, 1800}) {
  std::string rows;
  for (const char* name : {"simple", "line"})
    for (const std::int64_t n : sizes) {
      const bool simple = name == std::string("simple");
      const double value = predictor.l1_misses(machine, simple ? "ijk" : "ikj", n, 0).value;
      rows += fmt::format("{},{},,1,{:.0f},\n", name, n, value * factor(simple, n));
    }
  return rows;
}

constexpr auto as_counted = [](bool, std::int64_t) { return 1.0; };

bool survives(const Explanation& e, const std::string& machine) {
  return std::ranges::any_of(e.survivors(),
                             [&](const Trial* t) { return t->hypothesis->machine == machine; });
}

} // namespace

BOOST_AUTO_TEST_CASE(machines_are_told_apart_by_their_own_counts) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  Predictor& predictor = shared_predictor();
  for (const char* machine : {"i7-9700", "i7-2600", "i7-9700~stlb=1536:12"}) {
    const auto e = explainer.explain(group_of(table_of(predictor, machine, as_counted)));
    BOOST_TEST_CONTEXT(machine) {
      BOOST_TEST(survives(e, machine));
      BOOST_TEST(!survives(e, machine == std::string("i7-2600") ? "i7-9700" : "i7-2600"));
      BOOST_TEST(e.unexplained.empty());
    }
  }
  // Huge pages hide the machine: every hypothesis with the same first level survives, and none is preferred.
  const auto huge = explainer.explain(group_of(table_of(predictor, "i7-9700~huge", as_counted)));
  for (const char* machine : {"i7-2600~huge", "i7-4770~huge", "i7-9700~huge", "i7-9700~no-tlb"})
    BOOST_TEST(survives(huge, machine));
  BOOST_TEST(!survives(huge, "i7-9700"));
  BOOST_TEST(!huge.undetermined().empty());
}

BOOST_AUTO_TEST_CASE(one_wrong_cell_is_unexplained_and_noise_explains_nothing) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  Predictor& predictor = shared_predictor();
  const auto wrong = explainer.explain(group_of(table_of(
      predictor, "i7-9700", [](bool simple, std::int64_t n) { return simple && n == 600 ? 1.4 : 1.0; })));
  BOOST_TEST(survives(wrong, "i7-9700"));
  BOOST_REQUIRE(wrong.unexplained.size() == 1U);
  BOOST_TEST(wrong.unexplained[0].n == 600);
  std::mt19937 random(3);
  const auto noise = explainer.explain(group_of(table_of(predictor, "i7-9700", [&](bool, std::int64_t) {
    return 0.3 + static_cast<double>(random() % 1000) / 500;
  })));
  BOOST_TEST((noise.l1 && noise.survivors().empty()));
}

BOOST_AUTO_TEST_CASE(other_loops_are_found) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  Predictor& predictor = shared_predictor();
  std::string columns;
  for (const std::int64_t n : {600, 1000, 1400, 1800}) {
    columns += fmt::format("simple,{},,1,{:.0f},\n", n, predictor.l1_misses("i7-9700", "ijk", n, 0).value);
    columns += fmt::format("line,{},,1,{:.0f},\n", n, predictor.l1_misses("i7-9700", "jki", n, 0).value);
  }
  const auto other = explainer.explain(group_of(columns));
  BOOST_TEST(survives(other, "i7-9700"));
  BOOST_REQUIRE(other.other_loops.size() == 1U);
  BOOST_TEST((other.other_loops[0].named == "ikj" && !other.other_loops[0].orders.empty()));
}

BOOST_AUTO_TEST_CASE(what_follows_is_about_columns_in_their_places) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  std::string rows, exchanged;
  const auto add = [&](const char* name, std::int64_t n, std::int64_t block, double l1, std::int64_t l2) {
    const std::string size = block > 0 ? std::to_string(block) : "";
    rows += fmt::format("{},{},{},1,{:.0f},{}\n", name, n, size, l1, l2);
    exchanged += fmt::format("{},{},{},1,{},{:.0f}\n", name, n, size, l2, l1);
  };
  for (const std::int64_t n : {600, 1000, 1400, 1800}) {
    add("simple", n, 0, shared_predictor().l1_misses("i7-9700", "ijk", n, 0).value, 9 * n * n * n);
    add("line", n, 0, shared_predictor().l1_misses("i7-9700", "ikj", n, 0).value, n * n * n / 8 + 1);
  }
  add("block", 256, 64, shared_predictor().l1_misses("i7-9700", "ikj", 256, 64).value, 7);
  const Explanation right = explainer.explain(group_of(rows)), wrong = explainer.explain(group_of(exchanged));
  BOOST_TEST((!right.exchanged && wrong.exchanged));
  BOOST_REQUIRE((right.blocks.size() == 1U && wrong.blocks.size() == 1U));
  BOOST_TEST(right.blocks[0].lines == wrong.blocks[0].lines);
  BOOST_TEST(right.lines_requested == wrong.lines_requested);
  const auto more_than_l1 = [](const Explanation& e) {
    const auto found = std::ranges::find(e.findings, TableFinding::Kind::more_than_l1, &TableFinding::kind);
    return found == e.findings.end() ? "" : found->text;
  };
  BOOST_TEST(!more_than_l1(right).empty());
  BOOST_TEST(more_than_l1(right) == more_than_l1(wrong));
}

BOOST_AUTO_TEST_CASE(a_machine_without_tlb_restricts_no_tlb) {
  const auto none = parse_hypotheses(
      "L1 | i7-9700~no-tlb | no walks\nallowance | ijk | 0 | 3\nallowance | ikj | 0 | 3", "h.txt");
  const auto e = Explainer(none, shared_predictor())
                     .explain(group_of(table_of(shared_predictor(), "i7-9700~no-tlb", as_counted)));
  BOOST_TEST(e.determined().size() == 2U); // L1, no page walks
}

BOOST_AUTO_TEST_CASE(what_l2_counts_is_bounded_by_the_lines_of_streamed_matrices) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  const auto counted = [&](double per_step) {
    std::string rows;
    for (const double n : {1000., 1400., 1800.})
      rows += fmt::format("line,{},,1,,{:.0f}\n", n, per_step * n * n * n);
    std::vector<std::string> names;
    for (const CountTrial& trial : explainer.explain(group_of(rows)).counts)
      if (trial.survives) names.push_back(trial.hypothesis->name);
    return fmt::format("{}", fmt::join(names, " "));
  };
  BOOST_TEST(counted(0.125) == "demand");
  BOOST_TEST(counted(0.25) == "twice");
  BOOST_TEST(counted(0.06) == "some");
  BOOST_TEST(counted(0.001) == "few");
  BOOST_TEST(counted(0.6).empty());
}

BOOST_AUTO_TEST_SUITE_END()
