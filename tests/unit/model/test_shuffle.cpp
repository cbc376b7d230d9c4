// An order that follows from the seed.
#include "base/random.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_CASE(an_order_follows_from_the_seed_alone) {
  // Computed apart from the definition of mt19937_64, whose numbers the C++ standard fixes (rand.predef).
  const std::vector<int> expected{4, 6, 3, 5, 1, 7, 2, 0};
  std::vector<int> order(8);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  base::shuffle(std::span(order), random);
  BOOST_TEST(order == expected, boost::test_tools::per_element());
}
