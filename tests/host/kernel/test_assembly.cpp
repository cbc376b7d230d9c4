// The compiled loops, read back with objdump: one load a step, one store where there is one, no vectors.
#include "disassembly.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <regex>
#include <vector>

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(assembly)

namespace {

struct Loop {
  std::string function;
  int loads, stores;
};
std::ostream& operator<<(std::ostream& out, const Loop& loop) {
  return out << loop.function;
}
const std::vector<Loop> loops = {{"recount_kernel_stride", 1, 1}, {"recount_kernel_chase", 1, 0}};

} // namespace

BOOST_DATA_TEST_CASE(a_step_loads_and_stores_what_the_manual_says, data::make(loops), loop) {
  if (cannot_read_code()) return;
  const auto code = disassemble(loop.function);
  const auto body = innermost_loop(code);
  BOOST_REQUIRE(!body.empty());
  int loads = 0, stores = 0;
  std::string listing;
  for (const Instruction& instruction : body) {
    const auto [l, s] = loads_and_stores(instruction.text);
    loads += l;
    stores += s;
    listing += instruction.text + "\n";
  }
  BOOST_TEST_CONTEXT(listing) {
    BOOST_TEST(loads == loop.loads);
    BOOST_TEST(stores == loop.stores);
    BOOST_TEST(body.size() <= 6u); // not unrolled: a step a turn
  }
}

BOOST_DATA_TEST_CASE(no_vector_instruction_and_no_call, data::make(loops), loop) {
  if (cannot_read_code()) return;
  for (const Instruction& instruction : disassemble(loop.function)) {
    const bool vector = std::regex_search(instruction.text, std::regex(R"(\b[xyz]mm\d)"));
    BOOST_TEST(!vector, instruction.text);
    BOOST_TEST(!instruction.text.starts_with("call"), instruction.text); // no sanitiser, no helper
  }
}

BOOST_AUTO_TEST_CASE(the_reader_of_instructions_counts_right) {
  BOOST_TEST((loads_and_stores("add    BYTE PTR [rdx+rax*1],0x1") == std::pair(1, 1)));
  BOOST_TEST((loads_and_stores("inc    BYTE PTR [rdx]") == std::pair(1, 1)));
  BOOST_TEST((loads_and_stores("mov    QWORD PTR [rdi+0x10],rdx") == std::pair(0, 1)));
  BOOST_TEST((loads_and_stores("mov    rdx,QWORD PTR [rdx]") == std::pair(1, 0)));
  BOOST_TEST((loads_and_stores("cmp    BYTE PTR [rdx],0x1") == std::pair(1, 0)));
  BOOST_TEST((loads_and_stores("lea    rax,[rdx+0x1]") == std::pair(0, 0)));
  BOOST_TEST((loads_and_stores("nop    WORD PTR [rax+rax*1+0x0]") == std::pair(0, 0)));
}

BOOST_AUTO_TEST_SUITE_END()
