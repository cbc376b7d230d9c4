// Accelerated simulation against access by access, in every count and in the state that is left.
#pragma GCC diagnostic ignored "-Wnull-dereference" // g++ 12 sees a null pointer in std::deque

#include "model/accelerated/accelerate.hpp"
#include "random_nest.hpp"

#include <boost/test/unit_test.hpp>

#include <tuple>

using namespace recount::model;

BOOST_AUTO_TEST_SUITE(setwise)

namespace {

/// A machine whose sets decide for themselves, or any.
MachineDescription machine_for(Chance& chance) {
  MachineDescription machine = random_machine(chance, chance.one_in(8));
  const bool any = chance.one_in(6);
  for (LevelDescription& level : machine.levels) {
    if (any) continue;
    level.inclusion = Inclusion::non_inclusive;
    level.prefetch.clear();
    if (level.policy == Policy::random) level.policy = Policy::fifo;
    level.index.clear();
  }
  if (chance.one_in(3)) // a set asks sets of its own, as in machines where all numbers are powers of two
    for (std::size_t i = 1; i < machine.levels.size(); ++i) {
      LevelDescription& level = machine.levels[i];
      level.line = machine.levels[0].line;
      level.size = level.line * level.ways * machine.levels[i - 1].sets() * chance.from(1, 4);
      level.index.clear();
    }
  if (chance.one_in(3)) machine.tlb.reset();
  if (!machine.tlb && chance.one_in(3)) machine.tlb = TlbDescription{256, {{8, 2}, {12, 3}}};
  if (any) return machine;
  // Below the first levels the sets may be hashed.
  for (std::size_t i = 1; i < machine.levels.size(); ++i)
    if (chance.one_in(3)) machine.levels[i].index = random_masks(chance, machine.levels[i].sets(), true);
  if (machine.tlb)
    for (std::size_t i = 0; i < machine.tlb->levels.size(); ++i) {
      TlbLevel& level = machine.tlb->levels[i];
      level.index.clear();
      if (i > 0 && chance.one_in(2)) level.index = random_masks(chance, level.sets(), true);
    }
  return machine;
}

bool same(const Hierarchy& fast, const Hierarchy& plain, std::uint64_t seed) {
  const bool counts = fast.counts() == plain.counts(), state = fast.is(plain.state());
  BOOST_TEST(counts, "seed " << seed << ": other counts on " << describe(plain.machine()));
  BOOST_TEST(state, "seed " << seed << ": another state on " << describe(plain.machine()));
  return counts && state;
}

} // namespace

BOOST_AUTO_TEST_CASE(any_nest_counts_as_access_by_access) {
  std::int64_t set_by_set = 0;
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const MachineDescription machine = machine_for(chance);
    const Nest nest = RandomNest(chance).make();
    Acceleration how;
    how.always = true;
    how.setwise = !chance.one_in(8);
    if (chance.one_in(4)) how.limits.bytes = 200000; // room for little
    if (!chance.one_in(4)) how.limits.events = static_cast<std::uint64_t>(chance.from(1, 20));
    if (chance.one_in(3)) how.limits.threads = static_cast<std::size_t>(chance.from(2, 4));
    WideSets::allowed = seed % 2 == 0; // each is held against levels that keep their sets the other way
    NestSimulation simulation(nest, machine, how);
    Hierarchy fast(machine);
    WideSets::allowed = !WideSets::allowed;
    Hierarchy plain(machine);
    WideSets::allowed = true;
    PlainNest replay(plain);
    if (chance.one_in(2)) // something else is there
      for (const Access& a : random_trace(chance, 200))
        for (Hierarchy* const caches : {&fast, &plain})
          a.store ? caches->store(a.address + (1 << 24), 1) : caches->load(a.address, 1);
    const std::int64_t times = chance.from(1, 3);
    for (std::int64_t i = 0; i < times; ++i) {
      simulation.run(fast);
      replay.run(nest.nodes);
      if (!same(fast, plain, seed)) return;
    }
    set_by_set += simulation.setwise() != nullptr ? 1 : 0;
    BOOST_TEST(accesses(prepare(nest)) == replay.accesses / times, "seed " << seed);
  }
  BOOST_TEST(set_by_set > RECOUNT_PROPERTY_CASES / 3);
}

/// The worked example of src/model/accelerated/README.md.
BOOST_AUTO_TEST_CASE(worked_example_of_ten_accesses) {
  MachineDescription machine;
  machine.name = "example";
  for (const auto& [name, size, ways] : {std::tuple("L1d", 128, 1), std::tuple("L2", 512, 4)}) {
    LevelDescription& level = machine.levels.emplace_back();
    level.name = name;
    level.size = size;
    level.line = 64;
    level.ways = ways;
  }
  for (const std::int64_t passes : {2, 1000}) {
    NestAccess load;
    load.bytes = 8;
    load.address.slope = {0, 64};
    NestLoop pass, all;
    all.variable = 0;
    all.last = {{passes, {}}, {passes, {}}};
    pass.variable = 1;
    pass.last = {{5, {}}, {5, {}}};
    pass.body = {load};
    all.body = {pass};
    Acceleration how;
    how.always = true;
    how.limits.events = 1;
    NestSimulation simulation({{all}}, machine, how);
    BOOST_TEST_REQUIRE(simulation.setwise() != nullptr);
    Hierarchy caches(machine);
    simulation.run(caches);
    const Counts counts = caches.counts();
    BOOST_TEST(counts.levels[0].accessed(Cause::load) == 5 * passes);
    BOOST_TEST(counts.levels[0].missed(Cause::load) == 5 * passes);
    BOOST_TEST(counts.levels[1].missed(Cause::load) == 5);
    BOOST_TEST(simulation.setwise()->effort(0).events == 10); // of the first two passes only
  }
}

BOOST_AUTO_TEST_SUITE_END()
