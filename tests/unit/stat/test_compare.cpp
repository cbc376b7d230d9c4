// Commands in turn: which rows differ.
#include "commands/stat/second_count.hpp"
#include "commands/stat/stat_compare.hpp"
#include "run/rounds.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::stat;

BOOST_AUTO_TEST_SUITE(two_commands)

namespace {

using Words = std::vector<std::string>;

/// A plan with the rows "same", "other" and "absent".
Plan plan() {
  Plan plan;
  for (const char* name : {"same", "other", "absent"}) {
    PlanRow row;
    row.name = name;
    plan.rows.push_back(row);
  }
  return plan;
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
  BOOST_TEST(
      (split_commands({"a", "-b", "---", "c", "---", "d"}) == std::vector<Words>{{"a", "-b"}, {"c"}, {"d"}}));
  for (const Words& words :
       {Words{}, Words{"a"}, Words{"a", "---"}, Words{"---", "a"}, Words{"a", "---", "---", "c"}})
    BOOST_CHECK_THROW(static_cast<void>(split_commands(words)), Error);
}

BOOST_AUTO_TEST_CASE(only_distinguishable_rows_have_a_ratio) {
  const auto rows = compare_rows(plan(), {results(1), results(1.5)});
  BOOST_REQUIRE(rows.size() == 4U);
  BOOST_TEST(rows[0].name == "wall time");
  BOOST_TEST((rows[0].sides[1].evidence == statistics::Evidence::overlap));
  BOOST_TEST((rows[1].sides[1].evidence == statistics::Evidence::overlap));
  BOOST_TEST((rows[2].sides[1].evidence == statistics::Evidence::clear));
  BOOST_TEST(*rows[2].sides[1].ratio == 1.5);
  BOOST_TEST(rows[3].sides[0].reason.cause == "no core PMU");
  const auto table = comparison_table(rows);
  BOOST_REQUIRE(table.rows.size() == 3U);
  BOOST_TEST(table.rows[1].back().text == "1.00"); // within 2 %
  BOOST_TEST(table.rows[0].back().text.ends_with(" ?"));
  BOOST_TEST(table.rows[2].back().text == "1.500");
}

BOOST_AUTO_TEST_CASE(each_side_is_compared_with_the_baseline) {
  const auto rows = compare_rows(plan(), {results(1), results(1.5), results(3)}, 1);
  const auto table = comparison_table(rows);
  std::string heads, texts;
  for (std::size_t i = 1; i < table.columns.size(); ++i) {
    heads += table.columns[i].head + "; ";
    texts += table.rows[2][i].text + "; ";
  }
  BOOST_TEST(heads == "1: median; 1 / 2; 2: median; 3: median; 3 / 2; ");
  BOOST_TEST(texts == "101; 0.667; 152; 303; 2.000; ");
  BOOST_TEST((!rows[2].sides[1].ratio && rows[2].decided() && !rows[0].decided()));
}

BOOST_AUTO_TEST_CASE(two_repetitions_establish_nothing) {
  auto first = results(1), second = results(100);
  first.repetitions.resize(2);
  const auto rows = compare_rows(plan(), {first, second});
  BOOST_TEST((rows[2].sides[1].evidence == statistics::Evidence::few));
  BOOST_TEST(comparison_table(rows).rows[2].back().text == "100.50 ?");
  BOOST_TEST(!decided(rows, true));
}

BOOST_AUTO_TEST_CASE(rows_are_decided_by_a_difference_or_by_equality) {
  using Values = std::vector<double>;
  const Values near{100, 100.1, 100.2, 100.3}, far{100, 110, 120, 130}, twice{200, 201, 202, 203};
  const auto of = [](const Values& first, const Values& second) {
    ComparedRow row{"", "", {{.values = first}, {.values = second}}};
    judge(row);
    return row.decided();
  };
  BOOST_TEST((of(near, near) && of(near, twice) && of(near, {}) && of({0, 0, 0}, {0, 0, 0})));
  BOOST_TEST((!of(far, far) && !of(near, far)));
}

BOOST_AUTO_TEST_CASE(cpu_time_leads_where_wall_time_is_disturbed) {
  Plan timed = plan();
  timed.rows[1].name = "perf::TASK-CLOCK";
  const auto leading = [&](double wall_spread, double cpu) {
    RunResult result = results(1);
    for (Slice& slice : result.repetitions) {
      const auto turn = static_cast<double>(slice.repetition % 5) - 2;
      slice.end = 1 + wall_spread * turn;
      slice.rows[1].value = 1e9 * cpu * (1 + 0.001 * turn);
    }
    return compare_rows(timed, {result, result}).front().name;
  };
  BOOST_TEST(leading(0.1, 0.9) == "perf::TASK-CLOCK");
  BOOST_TEST(leading(0.001, 0.9) == "wall time"); // a quiet machine
  BOOST_TEST(leading(0.1, 0.05) == "wall time");  // it waits for something else
}

BOOST_AUTO_TEST_CASE(rounds_end_when_decided_or_at_the_budget) {
  const auto count = [](Rounds rounds, double seconds, long decided_at) {
    do
      static_cast<void>(rounds.add(seconds, rounds.done() + 1 >= decided_at));
    while (rounds.go_on());
    return rounds.done();
  };
  BOOST_TEST(count(Rounds(0), 2, 1) == 5); // fewer are not believed
  BOOST_TEST(count(Rounds(0), 2, 7) == 7);
  BOOST_TEST(count(Rounds(0), 2, 1000) == 30);  // three times what was announced
  BOOST_TEST(count(Rounds(0), 20, 1000) == 15); // five minutes
  BOOST_TEST(count(Rounds(0), 120, 1) == 3);
  BOOST_TEST(count(Rounds(4), 100, 1) == 4);
}

BOOST_AUTO_TEST_CASE(estimates_are_corrected_aloud) {
  Rounds rounds(0), quick(0), fixed(4);
  BOOST_TEST(rounds.add(2, false) == "about 20 s for 10 rounds, at most 1 min 0 s until they decide");
  BOOST_TEST(rounds.add(2.5, false) == "");
  BOOST_TEST(rounds.add(6, false) ==
             "about 35 s for 10 rounds, at most 1 min 45 s until they decide (corrected)");
  while (rounds.done() < 9)
    BOOST_TEST(rounds.add(3.5, false) == "");
  BOOST_TEST(rounds.add(3.5, false) ==
             "not decided after 10 rounds: up to 1 min 10 s more (-r fixes their number)");
  BOOST_TEST(rounds.add(60, false) == "");
  BOOST_TEST(quick.add(0.01, false) + quick.add(0.03, false) == "");
  BOOST_TEST(fixed.add(2, false) == "about 8 s for 4 rounds");
}

BOOST_AUTO_TEST_SUITE_END()

// Two counts of one event, by perf and by PAPI.
BOOST_AUTO_TEST_SUITE(two_counts)

namespace {

Plan counted_twice(bool joint) {
  Plan plan;
  PlanRow perf;
  perf.name = "PAPI_TOT_INS";
  perf.kind = RowKind::preset;
  PlanRow papi = perf;
  papi.witness = Witness::papi;
  papi.twin = 0;
  papi.joint = joint;
  plan.rows = {perf, papi};
  return plan;
}

RunResult counts(const std::vector<double>& perf, const std::vector<double>& papi) {
  RunResult result;
  for (std::size_t i = 0; i < perf.size(); ++i) {
    Slice slice;
    slice.rows.resize(2);
    slice.rows[0].value = perf[i];
    slice.rows[1].value = papi[i];
    result.repetitions.push_back(slice);
  }
  return result;
}

std::string note_of(bool joint, const RunResult& result) {
  const auto notes = difference_notes(counted_twice(joint), result);
  return notes.empty() ? "" : notes.front();
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_counts_are_no_difference) {
  const auto found = differences(counted_twice(true), counts({100, 110}, {100, 110}));
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].value.value() == 0);
  BOOST_TEST(!found[0].reported);
  BOOST_TEST(note_of(true, counts({100}, {100})) == "");
  BOOST_TEST(note_of(true, counts({10000}, {10099})) == ""); // two system calls
}

BOOST_AUTO_TEST_CASE(a_difference_in_the_same_execution_is_reported_by_how_much) {
  constexpr const char* unknown = "the same executions, domain and preset definition; no cause is known";
  BOOST_TEST(note_of(true, counts({1000}, {1200})) ==
             std::string("PAPI_TOT_INS: PAPI counts 20 % more than perf: ") + unknown);
  BOOST_TEST(note_of(true, counts({1000}, {250})) ==
             std::string("PAPI_TOT_INS: PAPI counts 75 % less than perf: ") + unknown);
  BOOST_TEST(note_of(true, counts({1000}, {3000})) ==
             std::string("PAPI_TOT_INS: PAPI counts 3 times as much as perf: ") + unknown);
  BOOST_TEST(note_of(true, counts({0}, {5})) ==
             std::string("PAPI_TOT_INS: PAPI counts 5 more than perf: ") + unknown);
}

BOOST_AUTO_TEST_CASE(the_cause_is_what_the_counts_prove) {
  RunResult computed = counts({1000}, {1200});
  computed.repetitions[0].rows[0].flags.emplace_back(Flag::Kind::other_papi_value,
                                                     "PAPI computes 1200 from the same counts");
  BOOST_TEST(note_of(true, computed).ends_with("differently: PAPI computes 1200 from the same counts"));
  RunResult scaled = counts({1000}, {1001});
  scaled.repetitions[0].rows[0].enabled_ns = 100;
  scaled.repetitions[0].rows[0].running_ns = 25;
  BOOST_TEST(
      note_of(true, scaled)
          .ends_with("possibly as perf counted 25.0 % of the time and scaled, and PAPI counted all of it"));
}

BOOST_AUTO_TEST_CASE(separate_executions_differ_only_beyond_their_noise) {
  BOOST_TEST(note_of(false, counts({1000}, {1200})).find("decide nothing") != std::string::npos);
  const std::vector<double> low{100, 101, 99, 100, 102, 98, 100, 101, 99, 100};
  std::vector<double> high, other(low.rbegin(), low.rend());
  for (const double value : low)
    high.push_back(1.5 * value);
  BOOST_TEST(note_of(false, counts(low, other)) == "");
  BOOST_TEST(note_of(false, counts(low, high)).starts_with("PAPI_TOT_INS: PAPI counts 50 % more than perf"));
}

BOOST_AUTO_TEST_CASE(what_one_does_not_count_has_no_difference) {
  RunResult missing = counts({1000}, {0});
  missing.repetitions[0].rows[1].value = {};
  BOOST_TEST(!differences(counted_twice(true), missing)[0].value.has_value());
  BOOST_TEST(note_of(true, missing) == "");
}

BOOST_AUTO_TEST_SUITE_END()
