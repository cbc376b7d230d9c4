// Tables, predictions and refutation of recount explain.
#include "explain/explanation.hpp"
#include "explain/loop_orders.hpp"
#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "matmul/published.hpp"
#include "model/hierarchy.hpp"
#include "model/nest_simulation.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <recount/error.hpp>

#include <cmath>
#include <random>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(explanations)

namespace {

using Kind = TableFinding::Kind;

Group group_of(const std::string& rows, const std::string& columns = "l1_dcm,l2_dcm") {
  result::Results results;
  for (auto& table : matmul::parse_published("variant,n,block,repetition," + columns + "\n" + rows, "t.csv",
                                             "", matmul::Duplicates::keep)) {
    results.runs.push_back(table.run);
    results.observations.insert(results.observations.end(), table.observations.begin(),
                                table.observations.end());
  }
  const auto groups = measured_groups(matmul::group_products(results));
  BOOST_REQUIRE(groups.size() == 1U);
  return groups.front();
}

std::size_t count_kind(const std::vector<TableFinding>& all, Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(all, kind, &TableFinding::kind));
}

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

BOOST_AUTO_TEST_CASE(nests_are_those_of_the_kernel) {
  for (const auto& [variant, order, block] :
       {std::tuple{"ijk", "ijk", 0}, {"ikj", "ikj", 0}, {"blocked", "ikj", 16}}) {
    result::Params point{{"variant", std::string(variant)}, {"n", std::int64_t{50}}};
    if (block > 0) point["block"] = std::int64_t{block};
    model::Hierarchy own(model::machine("i7-9700")), kernel(model::machine("i7-9700"));
    model::simulate_nest(product_nest(order, 50, block, {}), own);
    model::simulate_nest(kernel::matmul_nest(kernel::complete(kernel::find("matmul"), point), {}), kernel);
    BOOST_TEST_CONTEXT(variant) {
      BOOST_TEST(own.counts().levels[0].missed(model::Cause::load) ==
                 kernel.counts().levels[0].missed(model::Cause::load));
      BOOST_TEST(own.counts().loads == kernel.counts().loads);
    }
  }
  model::Hierarchy one(model::machine("i7-9700")), two(model::machine("i7-9700"));
  model::simulate_nest(product_nest("ikj", 50, 0, {}), one);
  model::simulate_nest(product_nest("ikj2", 50, 0, {}), two);
  BOOST_TEST(two.counts().stores * 2 == one.counts().stores);
}

BOOST_AUTO_TEST_CASE(outliers_do_not_widen_the_range_of_a_cell) {
  const Values values({100, 101, 99, 100, 12});
  BOOST_TEST((values.low == 99 && values.high == 101 && values.outliers.size() == 1U));
  const Values spread({80, 100, 120, 90, 110});
  BOOST_TEST((spread.low == 80 && spread.high == 120 && spread.outliers.empty()));
}

BOOST_AUTO_TEST_CASE(digits_copies_and_levels_are_found_without_a_machine) {
  const std::string good = "line,1000,,1,125600000,262000001\nline,1400,,1,346000000,680000001\n"
                           "line,1800,,1,745000000,1440000001\nline,2200,,1,2070000003,2550000001\n";
  const auto found = check_table(group_of(good));
  BOOST_TEST(count_kind(found, Kind::digit_lost) == 0U);
  BOOST_TEST(count_kind(found, Kind::copied) == 0U);
  BOOST_TEST(count_kind(found, Kind::more_than_l1) == 1U);
  std::string lost = good, copied = good;
  lost.replace(lost.find("680000001"), 9, "68000001");
  copied.replace(copied.find("1440000001"), 10, "2550000001");
  const auto digits = check_table(group_of(lost));
  BOOST_REQUIRE(count_kind(digits, Kind::digit_lost) == 1U);
  BOOST_TEST(digits.front().cells.front().n == 1400);
  BOOST_TEST(is_mistaken(digits, l2_metric, digits.front().cells.front()));
  BOOST_TEST(!is_mistaken(digits, l1_metric, digits.front().cells.front()));
  BOOST_TEST(count_kind(check_table(group_of(copied)), Kind::copied) == 1U);
}

BOOST_AUTO_TEST_CASE(rotated_labels_are_found_by_an_identity) {
  const auto rows = [](bool rotated) {
    std::string text;
    for (int i = 1; i <= 4; ++i) {
      const int dcm = 1'000'000 * i + i, icm = 2000 + i;
      text += rotated ? fmt::format("line,{},,1,{},{},{}\n", 100 * i, dcm + icm, dcm, icm)
                      : fmt::format("line,{},,1,{},{},{}\n", 100 * i, dcm, icm, dcm + icm);
    }
    return text;
  };
  const std::string columns = "l1_dcm,l1_icm,l1_tcm";
  BOOST_TEST(count_kind(check_table(group_of(rows(false), columns)), Kind::rotated) == 0U);
  const auto found = check_table(group_of(rows(true), columns));
  BOOST_REQUIRE(count_kind(found, Kind::rotated) == 1U);
  BOOST_TEST(found.front().text.find("PAPI_L1_ICM holds PAPI_L1_DCM") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(rows_in_another_order_are_put_back) {
  Column column;
  const std::int64_t sizes[] = {4096, 6144, 8192, 10240};
  for (std::size_t i = 0; i < 4; ++i) {
    const Cell from{"blocked", 128, sizes[(i + 1) % 4]}, to{"blocked", 128, sizes[i]};
    column.try_emplace(to, std::vector{0.14 * from.cube()});
  }
  const auto moved = sort_moved_rows(column);
  BOOST_REQUIRE(moved.size() == 1U);
  BOOST_TEST((moved[0].cells == 4U && moved[0].in_place == 1U && !moved[0].digit));
  for (const auto& [cell, values] : column)
    BOOST_TEST(values.median == 0.14 * cell.cube(), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(sort_moved_rows(column).empty());
}

BOOST_AUTO_TEST_CASE(a_cell_that_refutes_all_others_decides_nothing) {
  const Cell a{"ijk", 0, 1}, b{"ijk", 0, 2};
  const auto off = [](const Cell& cell, double share) { return Comparison{cell, 1, {}, share, 0.02}; };
  std::vector<Trial> trials(3);
  trials[0].compared = {off(a, 0.01), off(b, 0.5)};
  trials[1].compared = {off(a, 0.3), off(b, 0.4)};
  trials[2].compared = {off(a, 0), off(b, 0)};
  trials[2].abandoned = true;
  const auto unexplained = refute(trials, "ijk");
  BOOST_REQUIRE(unexplained.size() == 1U);
  BOOST_TEST((unexplained[0] == b));
  BOOST_TEST((trials[0].survives && !trials[1].survives && !trials[2].survives));
}

BOOST_AUTO_TEST_CASE(a_range_is_refuted_only_outside_of_the_measured_one) {
  const Values measured({100, 102, 98});
  const Cell cell{"ijk", 0, 600};
  BOOST_TEST(compare_cell(cell, measured, {104, 101, 107}, 0.02).off == 0);
  BOOST_TEST(!compare_cell(cell, measured, {103, 103, 104}, 0.02).refutes());
  BOOST_TEST(compare_cell(cell, measured, {110, 106, 114}, 0.02).refutes());
  BOOST_TEST(compare_cell(cell, measured, {90, 89, 91}, 0.02).off < -0.05);
}

BOOST_AUTO_TEST_CASE(machines_are_told_apart_by_their_own_counts) {
  Explainer explainer(shipped_hypotheses());
  Predictor predictor;
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
  Explainer explainer(shipped_hypotheses());
  Predictor predictor;
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

BOOST_AUTO_TEST_CASE(exchanged_labels_and_other_loops_are_found) {
  Explainer explainer(shipped_hypotheses());
  Predictor predictor;
  std::string exchanged;
  for (const char* name : {"line", "simple"})
    for (const std::int64_t n : {600, 1000, 1400, 1800})
      exchanged += fmt::format(
          "{},{},,1,{:.0f},\n", name, n,
          predictor.l1_misses("i7-9700", name == std::string("line") ? "ijk" : "ikj", n, 0).value);
  const auto labels = explainer.explain(group_of(exchanged));
  BOOST_TEST(labels.exchanged_labels);
  BOOST_TEST(survives(labels, "i7-9700"));
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

BOOST_AUTO_TEST_CASE(what_l2_counts_is_bounded_by_the_lines_of_streamed_matrices) {
  Explainer explainer(shipped_hypotheses());
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

BOOST_AUTO_TEST_CASE(hypotheses_are_read_strictly) {
  for (const char* bad : {"L1 | a", "L2 | a | 1 | b", "L2 | a | 1 x | b", "allowance | ijk | -1 | 2",
                          "L3 | a | b", "allowance | ijk | 0 | nan"})
    BOOST_CHECK_THROW((void)parse_hypotheses(bad, "h.txt"), Error);
  const auto& shipped = shipped_hypotheses();
  for (const auto& one : shipped.machines)
    BOOST_TEST(!model::machine(one.machine).levels.empty());
  BOOST_TEST(shipped.allowance("ikj", 4096) > shipped.allowance("ikj", 600));
}

BOOST_AUTO_TEST_SUITE_END()
