// The compiled loops of matmul: what the innermost one loads and stores, and that it is not vectorised.
#include "disassembly.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(matmul_assembly)

namespace {

struct Inner {
  std::string variant;
  int loads, stores;
};
std::ostream& operator<<(std::ostream& out, const Inner& inner) {
  return out << inner.variant;
}
const std::vector<Inner> inners = {
    {"ijk_f64", 2, 0},           {"ijk_i16", 2, 0},           {"ijk_mem_f64", 3, 1},
    {"ijk_mem_i16", 3, 1},       {"ikj_f64", 2, 1},           {"ikj_i16", 2, 1},
    {"by_transposed_f64", 3, 1}, {"by_transposed_i16", 3, 1}, {"transpose_f64", 1, 1},
    {"transpose_i16", 1, 1},     {"blocked_f64", 2, 1},       {"blocked_i16", 2, 1}};

/// The function that holds the innermost loop: of `blocked`, the part that the kernel keeps separate.
std::string function_of(const std::string& variant) {
  if (!variant.starts_with("blocked")) return "recount_kernel_matmul_" + variant;
  const std::string part = variant == "blocked_f64" ? "8MatricesIdE8separate" : "8MatricesIsE8separate";
  recount::process::Spawn spawn;
  spawn.argv = {"nm", kernel_library()};
  std::istringstream lines(recount::process::capture(std::move(spawn)).out);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) return line.substr(line.rfind(' ') + 1);
  return part;
}

/// Works on several elements at once. (Moves of a whole register also copy structures, before the loops.)
bool packed(const std::string& text) {
  static const std::regex vector(
      R"(^(v\w+|\w+p[sd]|p(add|mul|madd|unpck|shuf)\w*|mov(dq|ap|up)\w+)\s.*\b[xyz]mm\d.*)");
  return std::regex_match(text, vector);
}

} // namespace

BOOST_DATA_TEST_CASE(a_step_loads_and_stores_what_the_manual_says, data::make(inners), inner) {
  if (cannot_read_code()) return;
  const auto body = innermost_loop(disassemble(function_of(inner.variant)));
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
    BOOST_TEST(loads == inner.loads);
    BOOST_TEST(stores == inner.stores);
    BOOST_TEST(body.size() <= 9u + static_cast<std::size_t>(inner.stores) * 2); // a step a turn
    for (const Instruction& instruction : body) {
      BOOST_TEST(!packed(instruction.text), instruction.text);
      BOOST_TEST(!instruction.text.starts_with("call"), instruction.text);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_scalar_ceiling_stays_in_registers) {
  if (cannot_read_code()) return;
  int multiplications = 0, additions = 0;
  const auto code = disassemble("recount_kernel_peak_scalar");
  const auto loop = loop_with(code, "mulsd");
  BOOST_REQUIRE(!loop.empty());
  for (const Instruction& instruction : loop) {
    multiplications += instruction.text.starts_with("mulsd") ? 1 : 0;
    additions += instruction.text.starts_with("addsd") ? 1 : 0;
    BOOST_TEST(instruction.text.find(" PTR [") == std::string::npos, instruction.text);
  }
  BOOST_TEST(multiplications == 12);
  BOOST_TEST(additions == 12);
}

BOOST_AUTO_TEST_CASE(packed_instructions_are_told_from_scalar_ones) {
  BOOST_TEST(packed("mulpd  xmm0,XMMWORD PTR [rax]"));
  BOOST_TEST(packed("pmullw xmm1,xmm2"));
  BOOST_TEST(packed("vfmadd231pd ymm0,ymm1,ymm2"));
  BOOST_TEST(packed("movdqu xmm4,XMMWORD PTR [rax+0x20]"));
  BOOST_TEST(!packed("mulsd  xmm1,QWORD PTR [rsi]"));
  BOOST_TEST(!packed("pxor   xmm0,xmm0"));
  BOOST_TEST(!packed("movsd  xmm1,QWORD PTR [rcx]"));
}

BOOST_AUTO_TEST_SUITE_END()
