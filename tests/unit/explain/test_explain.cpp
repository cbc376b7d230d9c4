// Tables, predictions and refutation of recount explain.
#include "commands/explain/explanation.hpp"
#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "model/hierarchy.hpp"
#include "model/nest_simulation.hpp"
#include "tables.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <recount/error.hpp>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(explanations)

namespace {

using Kind = TableFinding::Kind;

std::size_t count_kind(const std::vector<TableFinding>& all, Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(all, kind, &TableFinding::kind));
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
    column.try_emplace(to, std::vector{0.14 * from.cube(), 0.141 * from.cube()}, Witness::papi);
  }
  const auto moved = sort_moved_rows(column);
  BOOST_REQUIRE(moved.size() == 1U);
  BOOST_TEST((moved[0].cells == 4U && moved[0].in_place == 1U && !moved[0].digit));
  for (const auto& [cell, values] : column) {
    BOOST_TEST(values.median == 0.1405 * cell.cube(), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(values.high == 0.141 * cell.cube(), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(values.witness == Witness(Witness::papi));
  }
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

BOOST_AUTO_TEST_CASE(hypotheses_are_read_strictly) {
  for (const char* bad : {"L1 | a", "L2 | a | 1 | b", "L2 | a | 1 x | b", "L2 | a | 2 1 | b",
                          "allowance | ijk | -1 | 2", "L3 | a | b", "allowance | ijk | 0 | nan"})
    BOOST_CHECK_THROW((void)parse_hypotheses(bad, "h.txt"), Error);
  const auto huge = parse_hypotheses("L1 | i7-9700~huge | huge pages", "h.txt");
  BOOST_TEST((huge.machines.size() == 1U && huge.machines[0].huge));
  const auto& shipped = shipped_hypotheses();
  for (const auto& one : shipped.machines)
    BOOST_TEST(!model::machine(one.machine).levels.empty());
  BOOST_TEST(shipped.allowance("ikj", 4096) > shipped.allowance("ikj", 600));
}

BOOST_AUTO_TEST_CASE(untested_hypotheses_determine_nothing) {
  const auto one = parse_hypotheses("L1 | i7-2600~huge | huge pages", "h.txt");
  const Explanation e = Explainer(one, shared_predictor()).explain(group_of("line,1000,,1,,125000001\n"));
  BOOST_TEST(!e.l1);
  BOOST_TEST(e.determined().empty());
}

BOOST_AUTO_TEST_CASE(a_dead_event_has_no_meaning) {
  const Group dead = group_of("line,1000,,1,,0\nline,1400,,1,,0\nline,1800,,1,,0\n");
  const Explanation e = Explainer(shipped_hypotheses(), shared_predictor()).explain(dead);
  BOOST_TEST(count_kind(e.findings, Kind::dead) == 1U);
  BOOST_TEST(e.counts.empty());
  BOOST_TEST(check_table(group_of("line,60,,1,,0\nline,70,,1,,0\n")).empty()); // fits in L2
}

BOOST_AUTO_TEST_SUITE_END()
