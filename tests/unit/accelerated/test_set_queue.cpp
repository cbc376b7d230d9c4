// When simulation set by set is given up. Times are given, so nothing depends on the speed of this machine.
#include "model/accelerated/set_queue.hpp"

#include <boost/test/unit_test.hpp>

using recount::model::SetQueue;

BOOST_AUTO_TEST_SUITE(set_queue)

namespace {
constexpr double second = 1e9;
}

BOOST_AUTO_TEST_CASE(every_set_is_handed_out_once) {
  SetQueue queue(3, 1, 0, second);
  BOOST_TEST(queue.next() == 0u);
  BOOST_TEST(queue.next() == 1u);
  BOOST_TEST(queue.next() == 2u);
  BOOST_TEST(queue.next() == 3u); // none left
  BOOST_TEST(!queue.given_up());
}

// Ten sets are worth 10 s. The first takes 2 s, as it meets everything for the first time.
BOOST_AUTO_TEST_CASE(a_slow_first_set_of_each_thread_says_nothing) {
  SetQueue one(10, 1, 0, 10 * second);
  BOOST_TEST(one.done(2 * second));
  BOOST_TEST(one.done(0.5 * second)); // 2.5 s and 8 times 0.5 s
  BOOST_TEST(one.share() == 0.2);
  SetQueue two(10, 2, 0, 10 * second);
  BOOST_TEST(two.done(2 * second));
  BOOST_TEST(two.done(2 * second));
  BOOST_TEST(two.done(0.5 * second)); // 4.5 s and 7 times 0.5 s
}

BOOST_AUTO_TEST_CASE(sets_that_remain_slow_are_given_up) {
  SetQueue one(10, 1, 0, 10 * second);
  BOOST_TEST(one.done(2 * second));
  BOOST_TEST(!one.done(1.5 * second)); // 3.5 s and 8 times 1.5 s
  BOOST_TEST(one.given_up());
  BOOST_TEST(one.next() == 10u); // no more of them
  SetQueue two(10, 2, 0, 10 * second);
  BOOST_TEST(two.done(2 * second));
  BOOST_TEST(two.done(2 * second));
  BOOST_TEST(!two.done(1.5 * second)); // 5.5 s and 7 times 1.5 s
}

// One set that is slow by chance does not count, as the mean of all is smaller.
BOOST_AUTO_TEST_CASE(a_single_slow_set_says_nothing) {
  SetQueue queue(20, 1, 0, 10 * second);
  for (int set = 0; set < 9; ++set)
    BOOST_TEST(queue.done(0.4 * second));
  BOOST_TEST(queue.done(1 * second)); // 4.6 s and 10 times 0.46 s
}

BOOST_AUTO_TEST_CASE(what_is_complete_is_kept) {
  SetQueue queue(2, 1, 0, second);
  BOOST_TEST(queue.done(0.5 * second));
  BOOST_TEST(queue.done(5 * second)); // too long, but none is left
  BOOST_TEST(!queue.given_up());
}

BOOST_AUTO_TEST_CASE(what_was_spent_before_counts) {
  SetQueue queue(10, 1, 8 * second, 10 * second);
  BOOST_TEST(queue.done(1 * second));
  BOOST_TEST(!queue.done(0.6 * second)); // 9.6 s and 8 times 0.6 s
}

BOOST_AUTO_TEST_CASE(only_the_first_to_give_up_is_told_so) {
  SetQueue queue(10, 2, 0, second);
  BOOST_TEST(queue.give_up());
  BOOST_TEST(!queue.give_up());
  BOOST_TEST(queue.next() == 10u);
}

BOOST_AUTO_TEST_SUITE_END()
