// Turns that touch the lines of the turn before, counted at once, against access by access.
#include "model/accelerated/accelerate.hpp"
#include "random_nest.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(turns)

namespace {

/// for i { for j { for k { a[i][k], b[k][j], perhaps one more } c[i][j] } }: rows of b begin alike in their
/// lines or not.
recount::model::Nest columns(Chance& chance) {
  const std::int64_t bytes = std::int64_t{1} << chance.from(0, 3);
  const std::int64_t pitch = chance.one_in(4) ? bytes * chance.from(1, 100) : 64 * chance.from(1, 5);
  const auto turns = [&](std::size_t variable, std::int64_t most) {
    recount::model::NestLoop loop;
    loop.variable = variable;
    loop.step = chance.one_in(6) ? 2 : 1;
    const recount::model::Affine last{chance.from(1, most), {}};
    loop.last = {last, last};
    return loop;
  };
  const auto access = [&](unsigned array, recount::model::Cause cause, std::int64_t i, std::int64_t j,
                          std::int64_t k) {
    recount::model::NestAccess one{cause, array, static_cast<unsigned>(bytes), {}};
    one.address.constant = (1 << 20) * (array + 1) + bytes * chance.from(0, 70);
    one.address.slope = {i, j, k};
    return one;
  };
  recount::model::NestLoop outer = turns(0, 4), middle = turns(1, 40), inner = turns(2, 60);
  if (chance.one_in(8))
    inner.last.other = recount::model::Affine{chance.from(1, 9), {0, 1}}; // one more than the turn before
  inner.body = {access(0, recount::model::Cause::load, pitch, 0, bytes),
                access(1, recount::model::Cause::load, 0, bytes, pitch)};
  if (chance.one_in(3))
    inner.body.push_back(access(3,
                                chance.one_in(2) ? recount::model::Cause::store : recount::model::Cause::load,
                                0, chance.one_in(2) ? -bytes : 0, chance.one_in(2) ? pitch : 0));
  middle.body = {inner, access(2, recount::model::Cause::store, pitch, bytes, 0)};
  outer.body = {middle};
  return {{outer}};
}

/// for i { for j { some rows[i][j] } }: several turns on a line.
recount::model::Nest rows(Chance& chance) {
  recount::model::NestLoop outer, inner;
  outer.variable = 0;
  inner.variable = 1;
  const recount::model::Affine most{chance.from(1, 12), {}}, length{chance.from(1, 60), {}};
  outer.last = {most, most};
  inner.last = {length, length};
  for (std::int64_t i = chance.from(1, 4); i > 0; --i) {
    recount::model::NestAccess one{chance.one_in(3) ? recount::model::Cause::store
                                                    : recount::model::Cause::load,
                                   static_cast<unsigned>(i),
                                   4,
                                   {}};
    one.address.constant = (1 << 20) + 4 * chance.from(0, 400);
    one.address.slope = {4 * chance.from(0, 100), 4 * chance.from(-1, 1)};
    inner.body.emplace_back(one);
  }
  outer.body = {inner};
  return {{outer}};
}

/// LRU throughout, small, with or without TLBs.
recount::model::MachineDescription lru_machine(Chance& chance) {
  recount::model::MachineDescription machine = random_machine(chance, true);
  const std::int64_t line = chance.one_in(2) ? 32 : 64; // of which one has a way of its own
  for (recount::model::LevelDescription& level : machine.levels) {
    level.line = line;
    level.ways = chance.from(1, 8);
    level.size = level.line * level.ways * (1 << chance.from(0, 3));
    if (&level == &machine.levels.front()) continue;
    if (chance.one_in(3)) level.inclusion = recount::model::Inclusion::inclusive;
    if (chance.one_in(4)) level.inclusion = recount::model::Inclusion::exclusive;
  }
  if (chance.one_in(2)) machine.tlb = recount::model::TlbDescription{64, {{chance.from(1, 3), 1}, {6, 2}}};
  if (machine.tlb && chance.one_in(2)) machine.tlb->levels.front() = {4, 2};
  return machine;
}

} // namespace

BOOST_AUTO_TEST_CASE(turns_on_the_same_lines_count_as_access_by_access) {
  recount::model::Acceleration how;
  how.setwise = false;
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const bool in_rows = chance.one_in(2);
    const recount::model::MachineDescription machine =
        in_rows || chance.one_in(3) ? lru_machine(chance) : random_machine(chance, chance.one_in(3));
    const recount::model::Nest nest = in_rows ? rows(chance) : columns(chance);
    recount::model::WideSets::allowed = !chance.one_in(3);
    recount::model::Hierarchy fast(machine), plain(machine);
    recount::model::NestSimulation simulation(nest, machine, how);
    PlainNest replay(plain);
    for (int times = 0; times < 3; ++times) { // a further run may end where it meets the first
      simulation.run(fast);
      replay.run(nest.nodes);
      BOOST_TEST((fast.counts() == plain.counts()), "seed " << seed << " on " << describe(machine));
      BOOST_TEST(fast.is(plain.state()), "seed " << seed << " on " << describe(machine));
      if (!(fast.counts() == plain.counts())) return;
      if (chance.one_in(2)) fast.reset_counters(), plain.reset_counters();
      if (chance.one_in(3)) // something else comes between
        for (const Access& a : random_trace(chance, 30))
          for (recount::model::Hierarchy* const caches : {&fast, &plain})
            a.store ? caches->store(a.address + (1 << 21), 1) : caches->load(a.address + (1 << 21), 1);
    }
  }
  recount::model::WideSets::allowed = true;
}

BOOST_AUTO_TEST_SUITE_END()
