// Complete simulation of loop nests against access by access, in every count and in the final state.
#include "model/nest_simulation.hpp"
#include "random_machine.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount::model;

BOOST_AUTO_TEST_SUITE(nest_simulation)

namespace {

/// Executes a nest access by access.
class PlainNest {
public:
  explicit PlainNest(Hierarchy& caches) : caches_(caches) {}
  void run(const std::vector<NestNode>& nodes) {

    for (const NestNode& node : nodes) {
      if (const auto* const access = std::get_if<NestAccess>(&node)) {
        const auto address = static_cast<std::uint64_t>(access->address.at(variables_));
        if (access->cause == Cause::store)
          caches_.store(address, access->bytes);
        else
          caches_.load(address, access->bytes);
        ++accesses;
        continue;
      }
      const auto& loop = std::get<NestLoop>(node);
      const std::int64_t last = loop.last.at(variables_);
      for (std::int64_t i = loop.first.at(variables_); i < last; i += loop.step) {
        variables_[loop.variable] = i;
        run(loop.body);
      }
      variables_[loop.variable] = 0;
    }
  }
  std::int64_t accesses = 0;

private:
  Hierarchy& caches_;
  Environment variables_{};
};

/// Loops of random bounds (blocks and triangles among them) around accesses of random strides, a few thousand
/// accesses in all. Every access is a multiple of its size.
class RandomNest {
public:
  explicit RandomNest(Chance& chance)
      : chance_(chance), bytes_(1 << chance.from(0, 3)), left_(chance.one_in(8) ? 40000 : 4000) {}

  Nest make() {
    Nest nest;
    const std::int64_t loops = chance_.from(1, 2);
    for (std::int64_t i = 0; i < loops; ++i)
      nest.nodes.push_back(loop(0, left_ / loops));
    if (chance_.one_in(4)) nest.nodes.insert(nest.nodes.begin() + chance_.from(0, loops), access(0));
    return nest;
  }

private:
  NestNode access(std::size_t depth) {
    NestAccess access;
    access.cause = chance_.one_in(3) ? Cause::store : Cause::load;
    access.array = static_cast<unsigned>(chance_.from(0, 3));
    access.bytes = static_cast<unsigned>(bytes_);
    // Arrays are distant, adjacent, or overlap.
    access.address.constant = (1 << 24) +
                              (chance_.one_in(3) ? 0 : access.array * (1 << chance_.from(6, 14))) +
                              bytes_ * chance_.from(0, 16);
    for (std::size_t v = 0; v < depth; ++v)
      if (!chance_.one_in(3))
        access.address.slope[v] =
            bytes_ * (chance_.one_in(2) ? chance_.from(-2, 4) : chance_.from(0, 1) << chance_.from(0, 8));
    return access;
  }

  NestNode loop(std::size_t depth, std::int64_t most) {

    NestLoop loop;
    loop.variable = depth;
    loop.step = chance_.one_in(4) ? chance_.from(1, 5) : 1;
    const std::int64_t turns =
        chance_.from(1, depth == 0 && chance_.one_in(10) ? most : std::min<std::int64_t>(most, 40));
    loop.first.constant = chance_.from(0, 3);
    if (depth > 0 && chance_.one_in(4))
      loop.first.slope[static_cast<std::size_t>(chance_.from(0, static_cast<std::int64_t>(depth) - 1))] = 1;
    Affine last = loop.first;
    last.constant += turns * loop.step - chance_.from(0, loop.step - 1);
    if (depth > 0 && chance_.one_in(8)) last.slope[depth - 1] += chance_.from(-1, 1);
    loop.last = {last, last};
    if (chance_.one_in(4)) loop.last.other = Affine{chance_.from(1, 60), {}};
    const std::int64_t inside = most / std::max<std::int64_t>(1, turns);
    const bool deeper = depth < 3 && inside > 8 && !chance_.one_in(4);
    const std::int64_t nodes = chance_.from(1, 3);
    for (std::int64_t i = 0; i < nodes; ++i) {
      if (deeper && chance_.one_in(2))
        loop.body.push_back(this->loop(depth + 1, inside / nodes));
      else
        loop.body.push_back(access(depth + 1));
    }
    return loop;
  }

  Chance& chance_;
  std::int64_t bytes_, left_;
};

/// for i { for j { for k { a[i][k], b[k][j], perhaps one more } c[i][j] } }: rows of b begin alike in their
/// lines or not.
Nest columns(Chance& chance) {
  const std::int64_t bytes = std::int64_t{1} << chance.from(0, 3);
  const std::int64_t pitch = chance.one_in(4) ? bytes * chance.from(1, 100) : 64 * chance.from(1, 5);
  const auto turns = [&](std::size_t variable, std::int64_t most) {
    NestLoop loop;
    loop.variable = variable;
    loop.step = chance.one_in(6) ? 2 : 1;
    const Affine last{chance.from(1, most), {}};
    loop.last = {last, last};
    return loop;
  };
  const auto access = [&](unsigned array, Cause cause, std::int64_t i, std::int64_t j, std::int64_t k) {
    NestAccess one{cause, array, static_cast<unsigned>(bytes), {}};
    one.address.constant = (1 << 20) * (array + 1) + bytes * chance.from(0, 70);
    one.address.slope = {i, j, k};
    return one;
  };
  NestLoop outer = turns(0, 4), middle = turns(1, 40), inner = turns(2, 60);
  if (chance.one_in(8)) inner.last.other = Affine{chance.from(1, 9), {0, 1}}; // one more than the turn before
  inner.body = {access(0, Cause::load, pitch, 0, bytes), access(1, Cause::load, 0, bytes, pitch)};
  if (chance.one_in(3))
    inner.body.push_back(access(3, chance.one_in(2) ? Cause::store : Cause::load, 0,
                                chance.one_in(2) ? -bytes : 0, chance.one_in(2) ? pitch : 0));
  middle.body = {inner, access(2, Cause::store, pitch, bytes, 0)};
  outer.body = {middle};
  return {{outer}};
}

/// for i { for j { some rows[i][j] } }: several turns on a line.
Nest rows(Chance& chance) {
  NestLoop outer, inner;
  outer.variable = 0;
  inner.variable = 1;
  const Affine most{chance.from(1, 12), {}}, length{chance.from(1, 60), {}};
  outer.last = {most, most};
  inner.last = {length, length};
  for (std::int64_t i = chance.from(1, 4); i > 0; --i) {
    NestAccess one{chance.one_in(3) ? Cause::store : Cause::load, static_cast<unsigned>(i), 4, {}};
    one.address.constant = (1 << 20) + 4 * chance.from(0, 400);
    one.address.slope = {4 * chance.from(0, 100), 4 * chance.from(-1, 1)};
    inner.body.emplace_back(one);
  }
  outer.body = {inner};
  return {{outer}};
}

/// LRU throughout, small, with or without TLBs.
MachineDescription lru_machine(Chance& chance) {
  MachineDescription machine = random_machine(chance, true);
  const std::int64_t line = chance.one_in(2) ? 32 : 64; // of which one has a way of its own
  for (LevelDescription& level : machine.levels) {
    level.line = line;
    level.ways = chance.from(1, 8);
    level.size = level.line * level.ways * (1 << chance.from(0, 3));
    if (&level == &machine.levels.front()) continue;
    if (chance.one_in(3)) level.inclusion = Inclusion::inclusive;
    if (chance.one_in(4)) level.inclusion = Inclusion::exclusive;
  }
  if (chance.one_in(2)) machine.tlb = TlbDescription{64, {{chance.from(1, 3), 1}, {6, 2}}};
  if (machine.tlb && chance.one_in(2)) machine.tlb->levels.front() = {4, 2};
  return machine;
}

bool same(const Hierarchy& fast, const Hierarchy& plain, std::uint64_t seed) {
  const bool counts = fast.counts() == plain.counts(), state = fast.state() == plain.state();
  BOOST_TEST(counts, "seed " << seed << ": other counts on " << describe(plain.machine()));
  BOOST_TEST(state, "seed " << seed << ": another state on " << describe(plain.machine()));
  return counts && state;
}

} // namespace

BOOST_AUTO_TEST_CASE(any_nest_counts_as_access_by_access) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const MachineDescription machine =
        chance.one_in(3) ? lru_machine(chance) : random_machine(chance, chance.one_in(3));
    const Nest nest = RandomNest(chance).make();
    WideSets::allowed = seed % 2 == 0; // each is compared with levels that store their sets the other way
    NestSimulation simulation(nest, machine);
    Hierarchy fast(machine);
    WideSets::allowed = !WideSets::allowed;
    Hierarchy plain(machine);
    WideSets::allowed = true;
    PlainNest replay(plain);
    if (chance.one_in(2)) // the caches are not empty
      for (const Access& a : random_trace(chance, 200))
        for (Hierarchy* const caches : {&fast, &plain})
          a.store ? caches->store(a.address + (1 << 24), 1) : caches->load(a.address, 1);
    const std::int64_t times = chance.from(1, 3);
    for (std::int64_t i = 0; i < times; ++i) {
      simulation.run(fast);
      replay.run(nest.nodes);
      if (!same(fast, plain, seed)) return;
    }
    BOOST_TEST(accesses(prepare(nest)) == replay.accesses / times, "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(turns_on_the_same_lines_count_as_access_by_access) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const bool in_rows = chance.one_in(2);
    const MachineDescription machine =
        in_rows || chance.one_in(3) ? lru_machine(chance) : random_machine(chance, chance.one_in(3));
    const Nest nest = in_rows ? rows(chance) : columns(chance);
    WideSets::allowed = !chance.one_in(3);
    Hierarchy fast(machine), plain(machine);
    NestSimulation simulation(nest, machine);
    PlainNest replay(plain);
    for (int times = 0; times < 3; ++times) { // a further run may end where it meets the first
      simulation.run(fast);
      replay.run(nest.nodes);
      if (!same(fast, plain, seed)) return;
      if (chance.one_in(2)) fast.reset_counters(), plain.reset_counters();
      if (chance.one_in(3)) // something else comes between
        for (const Access& a : random_trace(chance, 30))
          for (Hierarchy* const caches : {&fast, &plain})
            a.store ? caches->store(a.address + (1 << 21), 1) : caches->load(a.address + (1 << 21), 1);
    }
  }
  WideSets::allowed = true;
}

BOOST_AUTO_TEST_SUITE_END()
