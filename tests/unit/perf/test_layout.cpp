#include "count/perf/open_group.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <linux/perf_event.h>
#include <vector>

using namespace recount::perf;

BOOST_AUTO_TEST_SUITE(layout)

namespace {
constexpr std::uint64_t times =
    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
constexpr std::uint64_t full = times | PERF_FORMAT_ID | PERF_FORMAT_LOST;
using Words = std::vector<std::uint64_t>;
} // namespace

BOOST_AUTO_TEST_CASE(everything_in_the_documented_order) {
  const Layout layout(full);
  BOOST_TEST(layout.words(2) == 9U);
  // nr, enabled, running, { value, id, lost } * nr
  const Words words{2, 500, 400, 11, 71, 1, 22, 72, 2};
  const Words ids{71, 72};
  Times at;
  std::array<Raw, 2> out;
  BOOST_TEST_REQUIRE(layout.take(words, ids, at, out));
  BOOST_TEST(at.enabled == 500U);
  BOOST_TEST(at.running == 400U);
  BOOST_TEST(out[0].value == 11U);
  BOOST_TEST(out[1].value == 22U);
  BOOST_TEST(out[1].lost == 2U);
}

BOOST_AUTO_TEST_CASE(another_order_is_sorted_by_id) {
  const Words words{3, 1, 1, 30, 73, 0, 10, 71, 0, 20, 72, 0}, ids{71, 72, 73};
  Times at;
  std::array<Raw, 3> out;
  BOOST_TEST_REQUIRE(Layout(full).take(words, ids, at, out));
  BOOST_TEST(out[0].value == 10U);
  BOOST_TEST(out[1].value == 20U);
  BOOST_TEST(out[2].value == 30U);
}

BOOST_AUTO_TEST_CASE(without_lost) {
  const Words ids{71, 72};
  Times at;
  std::array<Raw, 2> out;
  const Words no_lost{2, 5, 5, 22, 72, 11, 71};
  BOOST_TEST_REQUIRE(Layout(times | PERF_FORMAT_ID).take(no_lost, ids, at, out));
  BOOST_TEST(out[0].value == 11U);
}

BOOST_AUTO_TEST_CASE(what_is_not_this_group_is_refused) {
  const Words ids{71, 72};
  Times at;
  std::array<Raw, 2> out;
  const Layout layout(full);
  BOOST_TEST(!layout.take(Words{1, 5, 5, 11, 71, 0}, ids, at, out));
  BOOST_TEST(!layout.take(Words{2, 5, 5, 11, 71, 0, 22, 99, 0}, ids, at, out));
  BOOST_TEST(!layout.take(Words{2, 5, 5, 11, 71, 0}, ids, at, out)); // cut short
}

BOOST_AUTO_TEST_SUITE_END()
