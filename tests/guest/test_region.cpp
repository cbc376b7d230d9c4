// Overhead of a region, which stays open as long as its thread: a suite of its own.
#include "loop.hpp"

#include <recount/region.hpp>
#include <recount/user_read.hpp>

#include <boost/test/unit_test.hpp>

#include <iostream>

BOOST_AUTO_TEST_SUITE(region)

BOOST_AUTO_TEST_CASE(entry_and_exit_are_two_reads_and_little_more) {
  recount::region_events({"perf::CYCLES:u"});
  recount::UserRead instructions(recount::encode("perf::INSTRUCTIONS", recount::Domain::user));
  instructions.start();
  { const recount::Region first("region"); }
  constexpr int times = 1000;
  const auto per_call = [&](auto&& call) {
    const std::uint64_t before = instructions.value().value();
    for (int i = 0; i < times; ++i)
      call();
    return static_cast<double>(instructions.value().value() - before) / times;
  };
  const double reads = 2 * per_call([&] { (void)instructions.value(); });
  const double each = per_call([] { const recount::Region inner("region"); });
  BOOST_TEST(each < reads + 100);
  std::cout << "a region of one event: " << each << " instructions, two reads: " << reads << "\n";
  const auto totals = recount::region_totals();
  BOOST_TEST_REQUIRE(totals.size() == 1U);
  BOOST_TEST(totals[0].calls == times + 1U);
  BOOST_TEST(totals[0].events[0].uncounted == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
