// Blocks that are forgotten: those that stay are as they were defined, and storage is used again.
#include "../model/random_machine.hpp"
#include "model/trace/executed.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <vector>

namespace {
using namespace recount;

using Words = std::vector<std::uint64_t>;

Words definition(Chance& chance, std::uint64_t number) {
  const auto instructions = static_cast<unsigned>(chance.from(1, 3)),
             accesses = static_cast<unsigned>(chance.from(0, 2));
  Words words{number, instructions | std::uint64_t{accesses} << 32};
  std::uint64_t address = 4096 * number;
  for (unsigned i = 0; i < instructions; ++i) {
    words.push_back(RT_INSTRUCTION(address, 4, RT_PLAIN));
    address += chance.one_in(3) ? 300U : 4U;
  }
  for (unsigned i = 0; i < accesses; ++i)
    words.push_back(RT_ACCESS(0, 0, i, 8));
  return words;
}

/// As define() has it of these words.
void check(const trace::Blocks& blocks, const Words& words) {
  const trace::Blocks::Block* const block = blocks.find(words[0]);
  BOOST_TEST_REQUIRE(block != nullptr);
  const auto instructions = static_cast<std::uint32_t>(words[1]),
             accesses = static_cast<std::uint32_t>(words[1] >> 32);
  BOOST_TEST(block->instructions == instructions);
  std::uint32_t in_stretches = 0;
  for (std::uint32_t i = 0; i < block->stretches; ++i)
    in_stretches += blocks.stretch(block->stretch + i).instructions;
  BOOST_TEST(in_stretches == instructions);
  for (std::uint32_t i = 0; i < instructions; ++i)
    BOOST_TEST(blocks.instruction(block->instruction + i).address == RT_PAYLOAD(words[2 + i]));
  BOOST_TEST(blocks.instruction(block->instruction).loads == (accesses > 0));
  BOOST_TEST(blocks.instruction(block->instruction).stores == (accesses > 1));
  BOOST_TEST(block->loads == (accesses > 0 ? 1U : 0U));
  BOOST_TEST(blocks.all()[block->access + accesses] == trace::Blocks::end);
}

} // namespace

BOOST_AUTO_TEST_SUITE(blocks)

BOOST_AUTO_TEST_CASE(forgotten_ones_leave_their_storage) {
  Chance chance(1);
  trace::Blocks blocks;
  std::map<std::uint64_t, Words> known;
  constexpr std::uint64_t at_a_time = 50;
  std::size_t after_some = 0;
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const Words words = known[number] = definition(chance, number);
    BOOST_TEST_REQUIRE(blocks.define(words));
    if (number >= at_a_time) {
      blocks.forget(number - at_a_time);
      known.erase(number - at_a_time);
      BOOST_TEST(blocks.find(number - at_a_time) == nullptr);
    }
    if (number % 1000 == 0)
      for (const auto& [one, its_words] : known)
        check(blocks, its_words);
    if (number == 10'000) after_some = blocks.instruction_count();
  }
  BOOST_TEST(blocks.instruction_count() < after_some + after_some / 4);
  BOOST_TEST(blocks.instruction_count() < 20 * at_a_time);
}

BOOST_AUTO_TEST_SUITE_END()
