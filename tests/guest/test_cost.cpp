// Overhead of each counting interface, in reproducible instruction counts.
#include "loop.hpp"

#include "commands/cost/cost.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

namespace {

cost::Costs measured() {
  recount::cost::CostOptions options;
  options.events = {"perf::INSTRUCTIONS", "perf::CYCLES", "arm_ac57::L1D_CACHE_REFILL",
                    "arm_ac57::L1D_TLB_REFILL"};
  options.visits = 1;
  options.batches = 5;
  return recount::cost::measure_costs(options);
}

/// Measured once for all cases.
const recount::cost::Costs& costs() {
  static const recount::cost::Costs all = measured();
  return all;
}

double of(const recount::cost::Costs& all, const char* operation, const char* route, std::size_t events) {
  for (const recount::cost::Cost& row : all.rows)
    if (row.operation == operation && row.route == route && row.events == events)
      return row.instructions.value();
  BOOST_FAIL(operation << " by " << route << " was not measured");
  return 0;
}
double of(const char* operation, const char* route, std::size_t events) {
  return of(costs(), operation, route, events);
}

} // namespace

BOOST_AUTO_TEST_SUITE(cost)

BOOST_AUTO_TEST_CASE(the_clock_is_seen_to_count_instructions) {
  BOOST_TEST_REQUIRE(costs().ns_per_instruction.has_value());
  const auto expected = static_cast<double>(test::cycles_per_instruction());
  BOOST_TEST(std::abs(*costs().ns_per_instruction - expected) < 0.001 * expected);
  BOOST_TEST(costs().no_user_instructions.empty());
}

BOOST_AUTO_TEST_CASE(a_group_read_takes_fewer_instructions_than_papis) {
  for (const std::size_t events : {1U, 2U, 4U}) {
    BOOST_TEST_CONTEXT(events) {
      BOOST_TEST(of(recount::cost::op_read, recount::cost::route_recount, events) <
                 of(recount::cost::op_read, recount::cost::route_papi, events));
      BOOST_TEST(of(recount::cost::op_read_reset, recount::cost::route_recount, events) <
                 of(recount::cost::op_read_reset, recount::cost::route_papi, events));
    }
  }
}

BOOST_AUTO_TEST_CASE(from_start_to_values_takes_fewer_instructions_than_papis) {
  for (const std::size_t events : {1U, 2U, 4U})
    BOOST_TEST(of(recount::cost::op_cycle, recount::cost::route_recount, events) <
               of(recount::cost::op_cycle, recount::cost::route_papi, events));
}

BOOST_AUTO_TEST_CASE(the_library_adds_little_to_the_system_calls) {
  for (const std::size_t events : {1U, 2U, 4U}) {
    BOOST_TEST(of(recount::cost::op_read, recount::cost::route_recount, events) <
               of(recount::cost::op_read, recount::cost::route_perf, events) + 200);
    BOOST_TEST(of(recount::cost::op_start, recount::cost::route_recount, events) <
               of(recount::cost::op_start, recount::cost::route_perf, events) + 60);
    BOOST_TEST(of(recount::cost::op_stop, recount::cost::route_recount, events) <
               of(recount::cost::op_stop, recount::cost::route_perf, events) + 60);
  }
}

BOOST_AUTO_TEST_CASE(user_space_read_is_short) {
  BOOST_TEST(of(recount::cost::op_read, recount::cost::route_user, 1) <=
             120); // with the times, which take the clock
}

BOOST_AUTO_TEST_CASE(user_mode_alone_is_part_of_the_whole) {
  for (const recount::cost::Cost& row : costs().rows) {
    BOOST_TEST_CONTEXT(row.operation << " by " << row.route) {
      BOOST_TEST_REQUIRE(row.user_instructions.has_value());
      BOOST_TEST(*row.user_instructions <= *row.instructions + 4);
      if (row.route == recount::cost::route_user)
        BOOST_TEST(std::abs(*row.user_instructions - *row.instructions) < 4);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_second_measurement_gives_the_same) {
  const recount::cost::Costs again = measured();
  for (const char* operation : {recount::cost::op_start, recount::cost::op_read, recount::cost::op_stop,
                                recount::cost::op_reset, recount::cost::op_cycle})
    for (const char* route :
         {recount::cost::route_perf, recount::cost::route_recount, recount::cost::route_papi})
      for (const std::size_t events : {1U, 2U, 4U})
        BOOST_TEST_CONTEXT(operation << " of " << events << " by " << route) {
          // The kernel's way through a call differs by a few branches from time to time: medians by up to ten
          // instructions were seen, of thousands.
          const double first = of(operation, route, events);
          BOOST_TEST(std::abs(of(again, operation, route, events) - first) < 16 + first / 500);
        }
}

BOOST_AUTO_TEST_SUITE_END()
