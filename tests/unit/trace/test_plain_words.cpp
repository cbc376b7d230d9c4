// Whatever way words of a trace are taken, they count as their accesses do one by one.
#include "../model/random_machine.hpp"
#include "model/metrics.hpp"
#include "model/trace/simulation.hpp"
#include "model/wide_sets.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

namespace {
using namespace recount;

/// Words of random blocks, and what their accesses do to a hierarchy.
class Program {
public:
  Program(Chance& chance, model::Hierarchy& caches) : chance_(chance), caches_(caches) {}
  std::map<std::string, std::int64_t> tally{
      {"PAPI_LD_INS", 0}, {"PAPI_SR_INS", 0}, {"PAPI_LST_INS", 0}, {"PAPI_TOT_INS", 0}};

  std::vector<std::uint64_t> chunk(int executions) {
    std::vector<std::uint64_t> words;
    for (int i = 0; i < executions; ++i)
      if (blocks_.empty() || chance_.one_in(20))
        define(words);
      else if (chance_.one_in(30))
        words.push_back(RT_WORD(RT_THREAD, 1));
      else
        execute(words,
                static_cast<std::size_t>(chance_.from(0, static_cast<std::int64_t>(blocks_.size()) - 1)));
    return words;
  }

private:
  struct Access {
    bool store;
    unsigned bytes, instruction;
  };
  struct Block {
    unsigned instructions, near; ///< near: of them, before a jump that the block follows
    std::uint64_t start;
    std::vector<Access> accesses;
    [[nodiscard]] std::uint64_t address(unsigned i) const { return start + 4 * i + (i < near ? 0 : 300); }
  };
  void define(std::vector<std::uint64_t>& words) {
    const auto instructions = static_cast<unsigned>(chance_.from(1, 5));
    Block block{instructions,
                static_cast<unsigned>(chance_.from(1, instructions)),
                static_cast<std::uint64_t>(chance_.from(0, 1000)),
                {}};
    for (unsigned i = 0; i < block.instructions; ++i)
      for (std::int64_t n = chance_.from(0, 2); n > 0; --n)
        block.accesses.push_back(
            {chance_.one_in(3), chance_.one_in(20) ? unsigned{RT_FLUSHED} : 1u << chance_.from(0, 5), i});
    words.push_back(RT_WORD(RT_DEFINE, 2 + block.instructions + block.accesses.size()));
    words.push_back(blocks_.size());
    words.push_back(block.instructions | std::uint64_t{block.accesses.size()} << 32);
    for (unsigned i = 0; i < block.instructions; ++i)
      words.push_back(RT_INSTRUCTION(block.address(i), 4, RT_PLAIN));
    for (const Access& access : block.accesses)
      words.push_back(RT_ACCESS(access.instruction, 1, access.store ? 1 : 0, access.bytes));
    blocks_.push_back(block);
  }
  void execute(std::vector<std::uint64_t>& words, std::size_t number) {
    const Block& block = blocks_[number];
    words.push_back(RT_WORD(RT_BLOCK, number));
    const unsigned last =
        chance_.one_in(4) ? static_cast<unsigned>(chance_.from(1, block.instructions)) : block.instructions;
    for (const Access& access : block.accesses) {
      if (access.instruction >= last) break;
      if (chance_.one_in(8)) {
        words.push_back(RT_WORD(RT_SKIPPED, 0));
        continue;
      }
      const auto address = static_cast<std::uint64_t>(chance_.one_in(3) ? chance_.from(0, 4000) : near_ += 4);
      words.push_back(address);
      if (access.bytes == RT_FLUSHED) {
        caches_.flush(address);
        continue;
      }
      access.store ? caches_.store(address, access.bytes) : caches_.load(address, access.bytes);
      ++tally[access.store ? "PAPI_SR_INS" : "PAPI_LD_INS"];
      ++tally["PAPI_LST_INS"];
    }
    if (last != block.instructions || chance_.one_in(4)) words.push_back(RT_WORD(RT_EXIT, last));
    tally["PAPI_TOT_INS"] += last;
    if (!caches_.machine().instructions) return turn();
    caches_.fetch(block.start, 4 * std::min(last, block.near));
    if (last > block.near) caches_.fetch(block.address(block.near), 4 * (last - block.near));
    turn();
  }
  void turn() {
    if (chance_.one_in(10)) near_ = chance_.from(0, 4000);
  }

  Chance& chance_;
  model::Hierarchy& caches_;
  std::vector<Block> blocks_;
  std::int64_t near_ = 0;
};

/// Half of them with a first level that accesses may enter directly.
model::MachineDescription machine_of(Chance& chance) {
  if (chance.one_in(2)) return random_machine(chance, false);
  auto machine = random_machine(chance, true);
  if (chance.one_in(2)) // lines of the length that the wide path takes
    for (model::LevelDescription& level : machine.levels) {
      level.size = level.size / level.line * 64;
      level.line = 64;
    }
  model::LevelDescription& first = machine.levels.front();
  first.ways = chance.one_in(2) ? 8 : chance.from(1, 8);
  first.size = first.line * first.ways << chance.from(0, 3);
  if (chance.one_in(2)) machine.tlb = model::TlbDescription{64, {{8, 4}, {48, 12}}};
  if (machine.tlb && chance.one_in(2)) machine.tlb->levels.back().index = model::xor_masks(4);
  if (chance.one_in(2)) add_instructions(chance, machine);
  return machine;
}

} // namespace

BOOST_AUTO_TEST_SUITE(plain_words)

BOOST_AUTO_TEST_CASE(words_count_as_their_accesses_one_by_one) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const auto machine = machine_of(chance);
    model::WideSets::allowed = seed % 3 != 0;
    BOOST_TEST_CONTEXT("seed " << seed << ": " << describe(machine)) {
      trace::Simulation simulation(machine, "", {}, 0);
      const auto process = simulation.begin();
      model::WideSets::allowed = seed % 3 == 0; // held against levels that keep their sets the other way
      model::Hierarchy caches(machine);
      Program program(chance, caches);
      for (int chunk = 0; chunk < 4; ++chunk)
        BOOST_TEST_REQUIRE(process->take(program.chunk(60)));
      trace::Simulation::end(*process);
      auto expected = model::metrics(caches);
      for (const auto& [name, value] : program.tally)
        expected[name] = value;
      const auto counted = simulation.values().values;
      BOOST_TEST((counted == expected));
      const auto translated =
          simulation.totals().caches.counts().tlb; // metrics do not tell loads from stores
      BOOST_TEST((translated == caches.counts().tlb));
      for (const auto& [name, value] : expected)
        if (counted.at(name) != value) BOOST_TEST(counted.at(name) == value, name);
      if (counted != expected || translated != caches.counts().tlb) break;
    }
  }
  model::WideSets::allowed = true;
}

BOOST_AUTO_TEST_CASE(damaged_words_are_refused) {
  const auto take = [](std::vector<std::uint64_t> more) {
    trace::Simulation simulation(model::machine("i7-9700"), "", {}, 0);
    std::vector<std::uint64_t> words{RT_WORD(RT_DEFINE, 4), 0, 1 | std::uint64_t{1} << 32,
                                     RT_INSTRUCTION(0x1000, 4, RT_PLAIN), RT_ACCESS(0, 0, 0, 8)};
    words.insert(words.end(), more.begin(), more.end());
    return simulation.begin()->take(words);
  };
  BOOST_TEST(take({RT_WORD(RT_BLOCK, 0), 64, RT_WORD(RT_EXIT, 1)}));
  BOOST_TEST(!take({64}));                           // of no block
  BOOST_TEST(!take({RT_WORD(RT_BLOCK, 1), 64}));     // that is not defined
  BOOST_TEST(!take({RT_WORD(RT_BLOCK, 0), 64, 64})); // more than it has
  BOOST_TEST(!take({RT_WORD(RT_BLOCK, 0), 64, RT_WORD(RT_SKIPPED, 0)}));
  BOOST_TEST(!take({RT_WORD(RT_BLOCK, 0), RT_WORD(RT_EXIT, 0)}));
  BOOST_TEST(!take({RT_WORD(RT_BLOCK, 0), RT_WORD(RT_EXIT, 2)}));
}

BOOST_AUTO_TEST_SUITE_END()
