// Counts beyond the 32 bits of a counter: the kernel and the user-space read carry over.
#include "loop.hpp"

#include <recount/group.hpp>
#include <recount/user_read.hpp>

#include <boost/test/unit_test.hpp>
#include <utility>

using namespace recount;
using namespace recount::test;

namespace {

[[gnu::noipa]] std::pair<std::uint64_t, std::uint64_t> counted(Group& group, std::uint64_t rounds) {
  group.reset();
  group.start();
  idle(rounds);
  group.stop();
  return {group.read()[0].value.value(), group.read()[1].value.value()};
}

[[gnu::noipa]] std::uint64_t counted(UserRead& counter, std::uint64_t rounds) {
  const std::uint64_t before = counter.read().value.value();
  idle(rounds);
  return counter.read().value.value() - before;
}

} // namespace

BOOST_AUTO_TEST_SUITE(wrap)

BOOST_AUTO_TEST_CASE(a_count_passes_32_bits_twice) {
  Group group({"perf::INSTRUCTIONS", "perf::CYCLES"}, Domain::user);
  counted(group, 1);
  const auto one = counted(group, 1);
  constexpr std::uint64_t rounds = 9'000'000; // 9.2e9 instructions
  static_assert(rounds * idle_round > std::uint64_t{2} << 32);
  const auto all = counted(group, rounds);
  BOOST_TEST(all.first - one.first == (rounds - 1) * idle_round);
  BOOST_TEST(all.second - one.second == (rounds - 1) * idle_round * cycles_per_instruction());
}

BOOST_AUTO_TEST_CASE(a_user_space_read_passes_32_bits) {
  UserRead counter(encode("perf::INSTRUCTIONS", Domain::user));
  counter.start();
  counted(counter, 1);
  const std::uint64_t one = counted(counter, 1);
  constexpr std::uint64_t rounds = 600'000, times = 10; // 6.1e9 instructions
  static_assert(rounds * times * idle_round > std::uint64_t{1} << 32);
  for (std::uint64_t i = 0; i < times; ++i)
    BOOST_TEST(counted(counter, rounds) - one == (rounds - 1) * idle_round);
  counter.stop();
  BOOST_TEST(counter.direct() > times);
}

BOOST_AUTO_TEST_SUITE_END()
