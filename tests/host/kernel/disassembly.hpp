// Machine code of the measured functions, read back with objdump.
#pragma once

#include "base/process/child.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

struct Instruction {
  unsigned long address = 0;
  std::string text; ///< "add BYTE PTR [rdx+rax*1],0x1"
};

/// The library of measured code: of this build, or of another compiler.
inline std::string kernel_library() {
  const char* const other = std::getenv("KERNEL_LIBRARY");
  return other ? other : KERNEL_LIBRARY;
}

/// The instructions of one function of the library of measured code.
inline std::vector<Instruction> disassemble(const std::string& function) {
  recount::process::Spawn spawn;
  spawn.argv = {"objdump",       "-d", "--no-show-raw-insn", "-M", "intel", "--disassemble=" + function,
                kernel_library()};
  const recount::process::Captured out = recount::process::capture(std::move(spawn));
  BOOST_REQUIRE_MESSAGE(out.exit.ok(), recount::process::describe(out.exit) << ": " << out.err);
  std::vector<Instruction> code;
  std::istringstream lines(out.out);
  const std::regex line_of_code(R"(^\s*([0-9a-f]+):\s+(.*\S)\s*$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, line_of_code))
      code.push_back({std::stoul(match[1], nullptr, 16), match[2]});
  }
  BOOST_REQUIRE_MESSAGE(!code.empty(), function << " is not in " << kernel_library());
  return code;
}

/// The shortest stretch that a jump backwards closes and that holds `word`.
inline std::vector<Instruction> loop_with(const std::vector<Instruction>& code, const std::string& word) {
  std::vector<Instruction> best;
  const std::regex jump(R"(^j\w+\s+([0-9a-f]+)\b.*)");
  for (std::size_t end = 0; end < code.size(); ++end) {
    std::smatch match;
    if (!std::regex_match(code[end].text, match, jump)) continue;
    const unsigned long target = std::stoul(match[1], nullptr, 16);
    if (target > code[end].address) continue;
    std::vector<Instruction> body;
    bool holds = false;
    for (std::size_t i = 0; i <= end; ++i)
      if (code[i].address >= target) {
        body.push_back(code[i]);
        holds = holds || code[i].text.find(word) != std::string::npos;
      }
    if (holds && (best.empty() || body.size() < best.size())) best = body;
  }
  return best;
}

/// The shortest loop that touches memory: the innermost one.
inline std::vector<Instruction> innermost_loop(const std::vector<Instruction>& code) {
  return loop_with(code, " PTR [");
}

/// How often an instruction reads and writes memory.
inline std::pair<int, int> loads_and_stores(const std::string& text) {
  const auto memory = text.find('[');
  if (memory == std::string::npos || text.starts_with("nop") || text.starts_with("lea")) return {0, 0};
  const auto comma = text.find(',');
  const bool destination = comma == std::string::npos || memory < comma;
  if (!destination) return {1, 0};
  if (text.starts_with("cmp") || text.starts_with("test")) return {1, 0};
  return {text.starts_with("mov") ? 0 : 1, 1};
}

inline bool cannot_read_code() {
#ifdef __x86_64__
  try {
    recount::process::Spawn spawn;
    spawn.argv = {"objdump", "--version"};
    if (recount::process::capture(std::move(spawn)).exit.ok()) return false;
  } catch (const std::exception&) {
  }
  recount::test::skip("objdump is not installed (package binutils)");
#else
  recount::test::skip("the reading of machine code is written for x86-64");
#endif
  return true;
}
