// The compiled loops, read back with objdump: one load a step, one store where there is one, no vectors.
#include "process/child.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <ostream>
#include <regex>
#include <sstream>
#include <vector>

namespace process = recount::process;
namespace data = boost::unit_test::data;

namespace {

struct Instruction {
  unsigned long address = 0;
  std::string text; ///< "add BYTE PTR [rdx+rax*1],0x1"
};

/// The instructions of one function of the library of measured code.
std::vector<Instruction> disassemble(const std::string& function) {
  process::Spawn spawn;
  spawn.argv = {"objdump",     "-d", "--no-show-raw-insn", "-M", "intel", "--disassemble=" + function,
                KERNEL_LIBRARY};
  const process::Captured out = process::capture(std::move(spawn));
  BOOST_REQUIRE_MESSAGE(out.exit.ok(), process::describe(out.exit) << ": " << out.err);
  std::vector<Instruction> code;
  std::istringstream lines(out.out);
  const std::regex line_of_code(R"(^\s*([0-9a-f]+):\s+(.*\S)\s*$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, line_of_code))
      code.push_back({std::stoul(match[1], nullptr, 16), match[2]});
  }
  BOOST_REQUIRE_MESSAGE(!code.empty(), function << " is not in " << KERNEL_LIBRARY);
  return code;
}

/// The shortest stretch that a jump backwards closes and that touches memory: the innermost loop.
std::vector<Instruction> innermost_loop(const std::vector<Instruction>& code) {
  std::vector<Instruction> best;
  const std::regex jump(R"(^j\w+\s+([0-9a-f]+)\b.*)");
  for (std::size_t end = 0; end < code.size(); ++end) {
    std::smatch match;
    if (!std::regex_match(code[end].text, match, jump)) continue;
    const unsigned long target = std::stoul(match[1], nullptr, 16);
    if (target > code[end].address) continue;
    std::vector<Instruction> body;
    bool memory = false;
    for (std::size_t i = 0; i <= end; ++i)
      if (code[i].address >= target) {
        body.push_back(code[i]);
        memory = memory || code[i].text.find(" PTR [") != std::string::npos;
      }
    if (memory && (best.empty() || body.size() < best.size())) best = body;
  }
  return best;
}

/// How often an instruction reads and writes memory.
std::pair<int, int> loads_and_stores(const std::string& text) {
  const auto memory = text.find('[');
  if (memory == std::string::npos || text.starts_with("nop") || text.starts_with("lea")) return {0, 0};
  const auto comma = text.find(',');
  const bool destination = comma == std::string::npos || memory < comma;
  if (!destination) return {1, 0};
  if (text.starts_with("cmp") || text.starts_with("test")) return {1, 0};
  return {text.starts_with("mov") ? 0 : 1, 1};
}

struct Loop {
  std::string function;
  int loads, stores;
};
std::ostream& operator<<(std::ostream& out, const Loop& loop) {
  return out << loop.function;
}
const std::vector<Loop> loops = {{"recount_kernel_stride", 1, 1}, {"recount_kernel_chase", 1, 0}};

bool skip() {
#ifdef __x86_64__
  try {
    process::Spawn spawn;
    spawn.argv = {"objdump", "--version"};
    if (process::capture(std::move(spawn)).exit.ok()) return false;
  } catch (const std::exception&) {
  }
  std::fputs("SKIP: objdump is not installed (package binutils)\n", stderr);
#else
  std::fputs("SKIP: the reading of machine code is written for x86-64\n", stderr);
#endif
  return true;
}

} // namespace

BOOST_AUTO_TEST_SUITE(assembly)

BOOST_DATA_TEST_CASE(a_step_loads_and_stores_what_the_manual_says, data::make(loops), loop) {
  if (skip()) return;
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
  if (skip()) return;
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
