// simulate() against the accesses written out, over random points and small caches.
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>

using namespace recount;

BOOST_AUTO_TEST_SUITE(simulate)

namespace {

model::MachineDescription small_machine(std::mt19937_64& engine) {
  model::MachineDescription machine;
  machine.name = "small";
  std::int64_t size = 64;
  for (int i = 0; i < 3; ++i) {
    model::LevelDescription level;
    level.name = "L" + std::to_string(i + 1);
    level.line = 32;
    level.ways = static_cast<std::int64_t>(1 + engine() % 4);
    level.size = size = size / 32 * 32 * level.ways * static_cast<std::int64_t>(1 + engine() % 3);
    level.policy = static_cast<model::Policy>(engine() % 4);
    if (level.policy == model::Policy::plru && level.ways == 3) level.policy = model::Policy::fifo;
    machine.levels.push_back(level);
  }
  return machine;
}

kernel::Params random_point(std::mt19937_64& engine, std::int64_t min_stride) {
  const auto size = static_cast<std::int64_t>(64 + engine() % 3000);
  const auto stride = min_stride + static_cast<std::int64_t>(engine() % 64);
  return {{"size", std::max(size, stride)},
          {"stride", stride},
          {"rounds", std::int64_t{0}},
          {"passes", static_cast<std::int64_t>(1 + engine() % 30)},
          {"offset", static_cast<std::int64_t>(engine() % 4096)}};
}

std::int64_t of(const kernel::Params& p, const char* name) {
  return std::get<std::int64_t>(p.at(name));
}

} // namespace

BOOST_AUTO_TEST_CASE(stride_is_its_loop) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < RECOUNT_PROPERTY_CASES / 4; ++i) {
    const auto machine = small_machine(engine);
    const auto p = random_point(engine, 1);
    model::Hierarchy fast(machine), plain(machine);
    std::int64_t accesses = 0;
    for (std::int64_t pass = 0; pass < of(p, "passes"); ++pass)
      for (std::int64_t x = 0; x + of(p, "stride") <= of(p, "size"); x += of(p, "stride"), ++accesses) {
        plain.load(kernel::assumed_base + static_cast<std::uint64_t>(of(p, "offset") + x), 1);
        plain.store(kernel::assumed_base + static_cast<std::uint64_t>(of(p, "offset") + x), 1);
      }
    BOOST_TEST(kernel::find("stride").simulate(p, fast) == accesses);
    BOOST_TEST((fast.counts() == plain.counts()));
    BOOST_TEST((fast.state() == plain.state()));
  }
}

BOOST_AUTO_TEST_CASE(chase_follows_the_pointers_that_lie_in_memory) {
  std::mt19937_64 engine(2);
  for (int i = 0; i < RECOUNT_PROPERTY_CASES / 10; ++i) {
    const auto machine = small_machine(engine);
    auto p = random_point(engine, 8);
    p["seed"] = static_cast<std::int64_t>(engine() % 1000);
    const auto instance = kernel::find("chase").prepare(p);
    const std::uint64_t start = instance->placement().base;
    model::Hierarchy fast(machine), plain(machine);
    std::uint64_t at = start;
    for (std::int64_t step = 0; step < instance->accesses(); ++step) {
      plain.load(kernel::assumed_base + static_cast<std::uint64_t>(of(p, "offset")) + (at - start), 8);
      std::memcpy(&at, reinterpret_cast<const void*>(at), sizeof at);
    }
    BOOST_TEST(kernel::find("chase").simulate(p, fast) == instance->accesses());
    BOOST_TEST((fast.counts() == plain.counts()));
    BOOST_TEST((fast.state() == plain.state()));
  }
}

// In each round the store of core 0 takes the line from both private levels of core 1, and its load finds in
// L3 what core 1 has stored after that.
BOOST_AUTO_TEST_CASE(two_cores_take_a_line_from_each_other) {
  const auto& sharing = kernel::find("sharing");
  model::Hierarchy caches(model::machine("i7-9700-l3~no-tlb"));
  BOOST_TEST(sharing.simulate_warm({{"rounds", std::int64_t{1000}}}, caches) == 1000);
  const model::Counts counts = caches.counts();
  BOOST_TEST((counts.loads == 2000 && counts.stores == 1000));
  for (std::size_t level : {0u, 1u}) {
    const model::LevelCounts& c = counts.levels[level];
    BOOST_TEST(c.missed(model::Cause::load) == 1000);
    BOOST_TEST(c.coherence_misses == 1000);
    BOOST_TEST(c.coherence_invalidations == 1000);
    BOOST_TEST(c.missed(model::Cause::store) == 0);
  }
  BOOST_TEST(counts.levels[0].coherence_write_backs == 1000);
  BOOST_TEST(counts.levels[1].coherence_write_backs == 0); // its copies are clean
  BOOST_TEST(counts.levels[2].accessed(model::Cause::load) == 1000);
  BOOST_TEST(counts.levels[2].missed(model::Cause::load) == 0);
  model::Hierarchy one(model::machine("i7-9700-l3~cores=1"));
  BOOST_CHECK_THROW(sharing.simulate({{"rounds", std::int64_t{1}}}, one), Error);
}

// 1024 blocks in 64 KiB are twice the L1i of the i7-9700, and with the frame 1025 lines: 16 or 17 lines for
// each set of 8 ways, of which none stays under LRU, in any order that repeats. Each pass fetches the frame
// once more, and the entry hits, because the frame was fetched last.
BOOST_AUTO_TEST_CASE(code_beyond_the_instruction_cache_misses_at_every_line) {
  const auto& code = kernel::find("code");
  const kernel::Params point{{"size", std::int64_t{64} << 10}, {"passes", std::int64_t{5}}};
  model::Hierarchy caches(model::machine("i7-9700"));
  BOOST_TEST(code.simulate_warm(point, caches) == 5 * 1024);
  const model::Counts counts = caches.counts();
  BOOST_TEST(counts.instructions.accessed(model::Cause::fetch) == 5 * 1025 + 1);
  BOOST_TEST(counts.instructions.missed(model::Cause::fetch) == 5 * 1025);
  BOOST_TEST(counts.levels[1].accessed(model::Cause::fetch) == 5 * 1025);
  BOOST_TEST(counts.levels[1].missed(model::Cause::fetch) == 0); // 256 KiB
  BOOST_TEST(counts.instruction_tlb[0].missed(model::Cause::fetch) == 0);
  BOOST_TEST((counts.loads == 0 && counts.stores == 0));

  model::Hierarchy held(model::machine("i7-9700"));
  code.simulate_warm({{"size", std::int64_t{16} << 10}, {"fill", std::string("full")}}, held);
  BOOST_TEST(held.counts().instructions.accessed(model::Cause::fetch) == 10 * 257 + 1);
  BOOST_TEST(held.counts().instructions.missed(model::Cause::fetch) == 0);
}

// One block per page and line: 256 pages in 128 entries of 8 ways miss each time, and hit in the second
// level.
BOOST_AUTO_TEST_CASE(code_on_many_pages_misses_in_the_instruction_tlb) {
  const auto& code = kernel::find("code");
  const kernel::Params point{
      {"size", std::int64_t{1} << 20}, {"stride", std::int64_t{4096}}, {"passes", std::int64_t{3}}};
  model::Hierarchy caches(model::machine("i7-9700"));
  code.simulate_warm(point, caches);
  const auto& tlb = caches.counts().instruction_tlb;
  // The frame shares the page of block 0, where the cycle begins: not a miss of its own before it.
  BOOST_TEST(tlb[0].missed(model::Cause::fetch) == 3 * 256);
  BOOST_TEST(tlb[1].missed(model::Cause::fetch) == 0);
}

BOOST_AUTO_TEST_CASE(code_needs_a_machine_with_instructions) {
  model::MachineDescription machine = model::machine("i7-9700");
  machine.instructions.reset();
  model::Hierarchy without(machine), mixed(model::machine("i7-9700~placement=mixed"));
  BOOST_CHECK_THROW(kernel::find("code").simulate({}, without), Error);
  BOOST_CHECK_THROW(kernel::find("code").simulate({}, mixed), Error);
}

BOOST_AUTO_TEST_SUITE_END()
