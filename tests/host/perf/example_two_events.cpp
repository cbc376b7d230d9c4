// The example of the documentation, compiled and run.
#include "needs.hpp"

#include <recount/group.hpp>

#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_CASE(example_two_events_around_a_loop,
                     *recount::test::needs(recount::test::no_kernel_counts)) {
  // [example]
  recount::Counters counters({"perf::PAGE-FAULTS", "perf::TASK-CLOCK"});
  std::vector<double> squares;
  counters.start();
  for (int i = 0; i < 1'000'000; ++i)
    squares.push_back(i * 0.5);
  counters.stop();
  const auto& counts = counters.read();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (const auto value = recount::scale(counts[i]))
      fmt::print("{}: {:.0f}\n", counters.events()[i].name, *value);
    else
      fmt::print("{}: not counted, {}\n", counters.events()[i].name, counts[i].reason->text());
  }
  // [example]
  BOOST_TEST(counts[0].value.value() > 1000U); // 8 MB of doubles
  BOOST_TEST(counts[1].value.value() > 0U);
}
