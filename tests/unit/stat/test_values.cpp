#include "base/process/waiter.hpp"
#include "run/stat_plan.hpp"
#include "run/stat_run.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace recount;
using namespace recount::stat;

BOOST_AUTO_TEST_SUITE(values)

namespace {

/// Events 0 and 1, and a metric over them.
Plan plan_of(const std::string& formula) {
  const auto metric =
      metric::parse("metric m\nunit u\nrange 0 10\nprose p\nformula " + formula + "\n", "f")[0];
  Plan plan;
  plan.events.resize(2);
  for (const std::size_t e : {0U, 1U}) {
    PlanRow row;
    row.name = e == 0 ? "A" : "B";
    witness::MetricEvents requested;
    requested.events.resize(1);
    row.operands.push_back({row.name, requested, {e}, {}});
    plan.rows.push_back(row);
  }
  PlanRow row;
  row.name = "m";
  row.kind = RowKind::metric;
  row.metric = metric;
  for (const std::string& name : metric.formulas[0].events())
    row.operands.push_back(plan.rows[name == "A" ? 0 : 1].operands[0]);
  plan.rows.push_back(row);
  return plan;
}

Count count(std::uint64_t value, std::uint64_t enabled = 100, std::uint64_t running = 100) {
  return {value, enabled, running, {}};
}

Count none(const std::string& reason) {
  return {{}, 100, 0, reason};
}

double number(const result::Observation& o) {
  BOOST_TEST_REQUIRE(result::as_double(o.value).has_value(), o.reason.get().text());
  return *result::as_double(o.value);
}

} // namespace

BOOST_AUTO_TEST_CASE(events_and_a_ratio_of_them) {
  const Plan plan = plan_of("A / B");
  const std::vector<Count> counts{count(6), count(4)};
  const auto rows = evaluate(plan, counts, 2);
  BOOST_TEST_REQUIRE(rows.size() == 3U);
  BOOST_TEST(std::get<std::int64_t>(rows[0].value) == 6);
  BOOST_TEST(number(rows[2]) == 1.5);
  BOOST_TEST(rows[2].metric == "m");
  BOOST_TEST(rows[2].flags.empty());
}

BOOST_AUTO_TEST_CASE(seconds_are_the_wall_time) {
  const std::vector<Count> counts{count(6), count(4)};
  BOOST_TEST(number(evaluate(plan_of("seconds * A / B / seconds / seconds"), counts, 2)[2]) == 0.75);
}

BOOST_AUTO_TEST_CASE(ratio_with_missing_operand_has_reason) {
  const std::vector<Count> counts{count(6), none("its counter was taken")};
  const auto rows = evaluate(plan_of("A / B"), counts, 1);
  BOOST_TEST(!result::as_double(rows[1].value).has_value());
  BOOST_TEST(!result::as_double(rows[2].value).has_value());
  BOOST_TEST(rows[2].reason.get().cause == "B: its counter was taken");
}

BOOST_AUTO_TEST_CASE(ratio_over_zero_has_reason) {
  const std::vector<Count> counts{count(6), count(0)};
  BOOST_TEST(evaluate(plan_of("A / B"), counts, 1)[2].reason.get().cause == "division by 0");
}

BOOST_AUTO_TEST_CASE(multiplexed_values_are_scaled_and_flagged) {
  const std::vector<Count> counts{count(6), count(4, 100, 50)};
  const auto rows = evaluate(plan_of("A / B"), counts, 1);
  BOOST_TEST(number(rows[1]) == 8);
  BOOST_TEST(number(rows[2]) == 0.75);
  BOOST_TEST(*rows[2].running_ns == 50);
  BOOST_TEST_REQUIRE(rows[2].flags.size() == 1U);
  BOOST_TEST(rows[2].flags[0].text == "multiplexed, counted 50.0 % of the time");
}

BOOST_AUTO_TEST_CASE(almost_no_counting_time_gives_no_value) {
  const std::vector<Count> counts{count(553'787, 400'000'000, 400'000'000), count(0, 400'000'000, 126)};
  const auto rows = evaluate(plan_of("B - A"), counts, 1);
  BOOST_TEST(number(rows[0]) == 553'787);
  BOOST_TEST(!result::as_double(rows[1].value).has_value());
  BOOST_TEST(rows[1].reason.get().cause.starts_with("scheduled for 126 ns of 400 ms"));
  BOOST_TEST(!result::as_double(rows[2].value).has_value());
  BOOST_TEST(rows[2].reason.get().cause.starts_with("B: scheduled for 126 ns of 400 ms"));
}

BOOST_AUTO_TEST_CASE(part_of_a_core_type_follows_the_time_of_all) {
  Plan plan = plan_of("A / B");
  plan.events.resize(3);
  plan.rows[1].operands[0].events = {1, 2};
  plan.rows[1].operands[0].requested.events.resize(2);
  plan.rows[1].part = 1;
  const Count elsewhere = count(3, 400'000'000, 126); // all but this time on the other core type
  BOOST_TEST(number(evaluate(plan, std::vector{count(6), count(4, 400'000'000, 399'000'000), elsewhere},
                             1)[1]) == 3);
  BOOST_TEST(
      !result::as_double(evaluate(plan, std::vector<Count>(3), 1)[1].value).has_value()); // not run yet
  const auto rows = evaluate(plan, std::vector{count(6), none("taken"), elsewhere}, 1);
  BOOST_TEST(!result::as_double(rows[1].value).has_value());
  BOOST_TEST(rows[1].reason.get().cause.starts_with("scheduled for 126 ns of 400 ms"));
}

BOOST_AUTO_TEST_CASE(impossible_value_has_reason) {
  const auto rows = evaluate(plan_of("A - B"), std::vector{count(4), count(6)}, 1);
  BOOST_TEST(!result::as_double(rows[2].value).has_value());
  BOOST_TEST(rows[2].reason.get().cause == "its formula gives -2, which is outside its range");
  BOOST_TEST(rows[2].flags.empty());
  result::Observation o;
  o.value = std::int64_t{-553'787};
  witness::refuse_negative(o);
  BOOST_TEST(!result::as_double(o.value).has_value());
  BOOST_TEST(o.reason.get().cause == "its formula gives -553787, and no count is negative");
  o = {};
  o.value = std::int64_t{0};
  witness::refuse_negative(o);
  BOOST_TEST(number(o) == 0);
}

BOOST_AUTO_TEST_CASE(a_ratio_outside_its_range_is_flagged) {
  const std::vector<Count> counts{count(60), count(4)};
  const auto rows = evaluate(plan_of("A / B"), counts, 1);
  BOOST_TEST(number(rows[2]) == 15);
  BOOST_TEST_REQUIRE(rows[2].flags.size() == 1U);
  BOOST_TEST(rows[2].flags[0].text.starts_with("outside its range"));
}

BOOST_AUTO_TEST_CASE(an_event_of_two_kinds_of_cores_is_their_sum_within_a_ratio) {
  Plan plan = plan_of("A / B");
  plan.events.resize(3);
  plan.rows[2].operands[1].events = {1, 2};
  plan.rows[2].operands[1].requested.events.resize(2);
  const std::vector<Count> counts{count(6), count(4, 100, 50), none("never on this kind")};
  BOOST_TEST(number(evaluate(plan, counts, 1)[2]) == 0.75);
  const std::vector<Count> both{count(6), count(4, 100, 50), count(2, 100, 50)};
  BOOST_TEST(number(evaluate(plan, both, 1)[2]) ==
             1); // each counted while the thread ran on its cores: 4 + 2
}

BOOST_AUTO_TEST_CASE(the_mean_of_ratios_is_not_the_ratio_of_means) {
  const Plan plan = plan_of("A / B");
  std::vector<Slice> slices(2);
  slices[0].rows = evaluate(plan, std::vector<Count>{count(1), count(1)}, 1);
  slices[1].rows = evaluate(plan, std::vector<Count>{count(9), count(3)}, 1);
  BOOST_TEST(*summarise(slices, 0).mean == 5);
  BOOST_TEST(*summarise(slices, 2).mean == 2); // (1 + 3) / 2; the ratio of the means is 2.5
  BOOST_TEST(*summarise(slices, 2).deviation == std::sqrt(2.0), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(repetitions_without_value_are_reported) {
  const Plan plan = plan_of("A / B");
  std::vector<Slice> slices(3);
  slices[0].rows = evaluate(plan, std::vector<Count>{count(1), count(1)}, 1);
  slices[1].rows = evaluate(plan, std::vector<Count>{count(1), none("why")}, 1);
  slices[2].rows = evaluate(plan, std::vector<Count>{count(3), count(1, 100, 25)}, 1);
  const RowSummary s = summarise(slices, 1);
  BOOST_TEST(*s.mean == 2.5);
  BOOST_TEST(s.missing == 1U);
  BOOST_TEST(s.reason.cause == "why");
  BOOST_TEST(s.share == 0.25);
  BOOST_TEST(!summarise(std::span<const Slice>(), 0).mean.has_value());
}

BOOST_AUTO_TEST_CASE(statuses) {
  using process::Exit;
  BOOST_TEST(process::shell_status({Exit::How::exited, 0}) == 0);
  BOOST_TEST(process::shell_status({Exit::How::exited, 42}) == 42);
  BOOST_TEST(process::shell_status({Exit::How::signalled, 9}) == 137);
}

BOOST_AUTO_TEST_SUITE_END()
