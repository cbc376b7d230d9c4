// Accelerated simulation against access by access, in every count and in the state that is left.
#pragma GCC diagnostic ignored "-Wnull-dereference" // g++ 12 sees a null pointer in std::deque

#include "model/accelerated/accelerate.hpp"
#include "random_nest.hpp"

#include <boost/test/unit_test.hpp>

#include <tuple>

namespace {

/// A machine whose sets decide for themselves, or any.
recount::model::MachineDescription machine_for(Chance& chance) {
  recount::model::MachineDescription machine = random_machine(chance, chance.one_in(8));
  const bool any = chance.one_in(6);
  for (recount::model::LevelDescription& level : machine.levels) {
    if (any) continue;
    level.inclusion = recount::model::Inclusion::non_inclusive;
    level.prefetch = recount::model::Prefetch::none;
    if (level.policy == recount::model::Policy::random) level.policy = recount::model::Policy::fifo;
  }
  if (chance.one_in(3)) // a set asks sets of its own, as in machines where all numbers are powers of two
    for (std::size_t i = 1; i < machine.levels.size(); ++i) {
      recount::model::LevelDescription& level = machine.levels[i];
      level.line = machine.levels[0].line;
      level.size = level.line * level.ways * machine.levels[i - 1].sets() * chance.from(1, 4);
    }
  if (chance.one_in(3)) machine.tlb.reset();
  if (!machine.tlb && chance.one_in(3)) machine.tlb = recount::model::TlbDescription{256, {{8, 2}, {12, 3}}};
  return machine;
}

bool same(const recount::model::Hierarchy& fast, const recount::model::Hierarchy& plain, std::uint64_t seed) {
  const bool counts = fast.counts() == plain.counts(), state = fast.is(plain.state());
  BOOST_TEST(counts, "seed " << seed << ": other counts on " << describe(plain.machine()));
  BOOST_TEST(state, "seed " << seed << ": another state on " << describe(plain.machine()));
  return counts && state;
}

} // namespace

BOOST_AUTO_TEST_SUITE(setwise)

BOOST_AUTO_TEST_CASE(any_nest_counts_as_access_by_access) {
  std::int64_t set_by_set = 0;
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const recount::model::MachineDescription machine = machine_for(chance);
    const recount::model::Nest nest = RandomNest(chance).make();
    recount::model::Acceleration how;
    how.always = true;
    how.setwise = !chance.one_in(8);
    if (chance.one_in(4)) how.limits.bytes = 200000; // room for little
    if (!chance.one_in(4)) how.limits.events = static_cast<std::uint64_t>(chance.from(1, 20));
    recount::model::WideSets::allowed =
        seed % 2 == 0; // each is held against levels that keep their sets the other way
    recount::model::NestSimulation simulation(nest, machine, how);
    recount::model::Hierarchy fast(machine);
    recount::model::WideSets::allowed = !recount::model::WideSets::allowed;
    recount::model::Hierarchy plain(machine);
    recount::model::WideSets::allowed = true;
    PlainNest replay(plain);
    if (chance.one_in(2)) // something else is there
      for (const Access& a : random_trace(chance, 200))
        for (recount::model::Hierarchy* const caches : {&fast, &plain})
          a.store ? caches->store(a.address + (1 << 24), 1) : caches->load(a.address, 1);
    const std::int64_t times = chance.from(1, 3);
    for (std::int64_t i = 0; i < times; ++i) {
      simulation.run(fast);
      replay.run(nest.nodes);
      if (!same(fast, plain, seed)) return;
    }
    set_by_set += simulation.setwise() != nullptr ? 1 : 0;
    BOOST_TEST(recount::model::accesses(recount::model::prepare(nest)) == replay.accesses / times,
               "seed " << seed);
  }
  BOOST_TEST(set_by_set > RECOUNT_PROPERTY_CASES / 3);
}

/// The worked example of src/model/accelerated/README.md.
BOOST_AUTO_TEST_CASE(worked_example_of_ten_accesses) {
  recount::model::MachineDescription machine;
  machine.name = "example";
  for (const auto& [name, size, ways] : {std::tuple("L1d", 128, 1), std::tuple("L2", 512, 4)}) {
    recount::model::LevelDescription& level = machine.levels.emplace_back();
    level.name = name;
    level.size = size;
    level.line = 64;
    level.ways = ways;
  }
  for (const std::int64_t passes : {2, 1000}) {
    recount::model::NestAccess load;
    load.bytes = 8;
    load.address.slope = {0, 64};
    recount::model::NestLoop pass, all;
    all.variable = 0;
    all.last = {{passes, {}}, {passes, {}}};
    pass.variable = 1;
    pass.last = {{5, {}}, {5, {}}};
    pass.body = {load};
    all.body = {pass};
    recount::model::Acceleration how;
    how.always = true;
    how.limits.events = 1;
    recount::model::NestSimulation simulation({{all}}, machine, how);
    BOOST_TEST_REQUIRE(simulation.setwise() != nullptr);
    recount::model::Hierarchy caches(machine);
    simulation.run(caches);
    const recount::model::Counts counts = caches.counts();
    BOOST_TEST(counts.levels[0].accessed(recount::model::Cause::load) == 5 * passes);
    BOOST_TEST(counts.levels[0].missed(recount::model::Cause::load) == 5 * passes);
    BOOST_TEST(counts.levels[1].missed(recount::model::Cause::load) == 5);
    BOOST_TEST(simulation.setwise()->simulators()[0].effort().events == 10); // of the first two passes only
  }
}

BOOST_AUTO_TEST_SUITE_END()
