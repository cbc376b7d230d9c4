// Repeated passes counted at once against the same passes simulated one by one.
#include "model/hierarchy.hpp"
#include "random_machine.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(recurrence)

namespace {

void replay(recount::model::Hierarchy& caches, const std::vector<Access>& trace) {
  for (const Access& a : trace) {
    caches.select(a.core);
    a.store ? caches.store(a.address, a.bytes) : caches.load(a.address, a.bytes);
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(repeated_passes_count_as_plain_ones) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const recount::model::MachineDescription machine = random_machine(chance, chance.one_in(3));
    const auto trace = random_trace(chance, static_cast<std::size_t>(chance.from(1, 80)));
    const std::int64_t passes = chance.from(0, 40);
    recount::model::Hierarchy fast(machine), plain(machine);
    replay(fast, {{true, 0, 1}, {false, 100, 8}}); // neither cold nor at zero
    replay(plain, {{true, 0, 1}, {false, 100, 8}});
    recount::model::repeat(fast, passes, [&] { replay(fast, trace); });
    for (std::int64_t i = 0; i < passes; ++i)
      replay(plain, trace);
    BOOST_TEST_CONTEXT("seed " << seed << ", " << passes << " passes: " << describe(machine)) {
      const bool counts = fast.counts() == plain.counts(), states = fast.state() == plain.state();
      BOOST_TEST(counts);
      BOOST_TEST(states);
      if (!counts || !states) return;
    }
  }
}

BOOST_AUTO_TEST_CASE(a_billion_passes_take_a_few) {
  const recount::model::MachineDescription machine = recount::model::parse_machine(
      R"({"name": "m", "levels": [{"name": "L1", "size": 1024, "line": 64, "ways": 4}]})", "m.json");
  recount::model::Hierarchy caches(machine);
  int simulated = 0;
  recount::model::repeat(caches, 1'000'000'000, [&] {
    ++simulated;
    for (std::uint64_t i = 0; i < 20; ++i)
      caches.load(64 * i, 8); // 5 lines for each of 4 places: all miss
  });
  BOOST_TEST(simulated <= 3);
  BOOST_TEST(caches.counts().levels[0].missed(recount::model::Cause::load) == 20'000'000'000);
}

BOOST_AUTO_TEST_CASE(a_state_tells_dirty_lines_and_order_apart) {
  const recount::model::MachineDescription machine = recount::model::parse_machine(
      R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}]})", "m.json");
  recount::model::Hierarchy caches(machine);
  caches.load(0, 1);
  caches.load(64, 1);
  const auto state = caches.state();
  BOOST_TEST((caches.state() == state));
  caches.load(0, 1);
  BOOST_TEST((caches.state() != state));
  caches.load(64, 1);
  BOOST_TEST((caches.state() == state));
  caches.store(64, 1);
  BOOST_TEST((caches.state() != state));
}

BOOST_AUTO_TEST_SUITE_END()
