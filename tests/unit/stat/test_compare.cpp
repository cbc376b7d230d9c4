// Two commands in turn: which rows differ.
#include "stat/stat_compare.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::stat;

BOOST_AUTO_TEST_SUITE(two_commands)

namespace {

using Words = std::vector<std::string>;

/// A plan with the rows "same", "other" and "absent".
Plan plan() {
  Plan made;
  for (const char* name : {"same", "other", "absent"}) {
    PlanRow row;
    row.name = name;
    made.rows.push_back(row);
  }
  return made;
}

/// Ten repetitions; "other" is `times` as large as in the first command.
RunResult results(double times) {
  RunResult result;
  for (int repetition = 0; repetition < 10; ++repetition) {
    Slice slice;
    slice.repetition = repetition;
    slice.end = 1 + 0.01 * ((repetition * 7) % 10);
    slice.rows.resize(3);
    slice.rows[0].value = std::int64_t{100 + repetition % 3};
    slice.rows[1].value = times * (100 + repetition % 3);
    slice.rows[2].reason = "no core PMU";
    result.repetitions.push_back(slice);
  }
  return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(commands_are_split_at_the_separator) {
  const auto [first, second] = split_commands({"a", "-b", "---", "c"});
  BOOST_TEST(first == (Words{"a", "-b"}), boost::test_tools::per_element());
  BOOST_TEST(second == Words{"c"}, boost::test_tools::per_element());
  for (const Words& words :
       {Words{}, Words{"a"}, Words{"a", "---"}, Words{"---", "a"}, Words{"a", "---", "b", "---", "c"}})
    BOOST_CHECK_THROW(static_cast<void>(split_commands(words)), Error);
}

BOOST_AUTO_TEST_CASE(only_distinguishable_rows_have_a_ratio) {
  const auto rows = compare_rows(plan(), {results(1), results(1.5)});
  BOOST_REQUIRE(rows.size() == 4U);
  BOOST_TEST(rows[0].name == "wall time");
  BOOST_TEST((rows[0].evidence == statistics::Evidence::overlap));
  BOOST_TEST((rows[1].evidence == statistics::Evidence::overlap));
  BOOST_TEST((rows[2].evidence == statistics::Evidence::clear));
  BOOST_TEST(*rows[2].ratio == 1.5);
  BOOST_TEST(rows[3].reason.cause == "no core PMU");
  const auto table = comparison_table(rows);
  BOOST_REQUIRE(table.rows().size() == 3U);
  BOOST_TEST(table.rows()[1].back() == "n.d.");
  BOOST_TEST(table.rows()[2].back() == "1.500");
}

BOOST_AUTO_TEST_CASE(two_repetitions_give_a_range_and_no_conclusion) {
  auto first = results(1), second = results(100);
  first.repetitions.resize(2);
  const auto rows = compare_rows(plan(), {first, second});
  BOOST_TEST((rows[2].evidence == statistics::Evidence::few));
  BOOST_TEST(comparison_table(rows).rows()[2].back() == "100.498 (99.010 to 102.000)");
  first.repetitions.resize(1);
  BOOST_TEST(comparison_table(compare_rows(plan(), {first, second})).rows()[2].back() == "n.d.");
}

BOOST_AUTO_TEST_SUITE_END()
