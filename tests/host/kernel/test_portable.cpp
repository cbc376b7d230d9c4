// The blocks in C++: what was read off their disassembly is what is executed.
#include "executed.hpp"
#include "kernel/blocks/block.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount::kernel;

BOOST_AUTO_TEST_SUITE(portable)

BOOST_AUTO_TEST_CASE(blocks_execute_what_their_disassembly_says) {
  if (const std::string why = cannot_step(); !why.empty()) return recount::test::skip(why);
  BOOST_TEST(native::architecture() == "portable C++");
  BOOST_TEST(native::blocks().size() >= 10u);
  alignas(4096) static unsigned char data[4096];
  const double one = 1;
  std::copy_n(reinterpret_cast<const unsigned char*>(&one), sizeof one, data);
  for (const native::Block& block : native::blocks())
    for (const std::int64_t turns : {1, 4}) {
      native::Turns context{turns, data, 4095, 64};
      const Tally seen = executed({block.code, &context}), said = block.tally(static_cast<double>(turns));
      const double steps = static_cast<double>(turns) * native::steps_a_turn;
      BOOST_TEST_CONTEXT(block.name << ", " << turns << " turns") {
        BOOST_TEST(seen.instructions == said.instructions);
        BOOST_TEST(seen.conditional == said.conditional);
        BOOST_TEST(seen.taken == said.taken);
        BOOST_TEST(seen.unconditional == said.unconditional);
        BOOST_TEST(seen.fp == said.fp);
        BOOST_TEST(seen.single_ops == said.single_ops);
        BOOST_TEST(seen.double_ops == said.double_ops);
        BOOST_TEST(seen.fences == said.fences);
        if (block.step.fences > 0) continue;                // x86 has barriers that load and store
        BOOST_TEST(seen.loads >= steps * block.step.loads); // and what the compiler loads once
        BOOST_TEST(seen.loads <= steps * block.step.loads + 8);
        BOOST_TEST(seen.stores == steps * block.step.stores);
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
