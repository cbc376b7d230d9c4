// The text of /proc/kallsyms.
#include "count/symbol/memory_symbols.hpp"

#include <boost/test/unit_test.hpp>

using recount::symbol::KernelSymbols;

BOOST_AUTO_TEST_SUITE(kernel_symbols)

BOOST_AUTO_TEST_CASE(functions_extend_to_the_next_and_modules_are_named) {
  const KernelSymbols k(
      "ffffffff81000000 T _text\nffffffff81000100 t do_thing\nffffffff81000180 d some_data\n"
      "ffffffff81000200 W weak\nffffffffc0000000 t start\t[ext4]\n");
  BOOST_TEST(k.hidden().empty());
  BOOST_TEST(k.find(0xffffffff810001ff)->name == "do_thing");
  BOOST_TEST(k.find(0xffffffff810001ff)->end == 0xffffffff81000200);
  BOOST_TEST(k.find(0xffffffff81000200)->name == "weak");
  BOOST_TEST(k.find(0xffffffffc0000001)->module == "ext4");
  BOOST_TEST(k.find(0xffffffff810001ff)->module == "");
  BOOST_TEST(!k.find(0x1000).has_value());
}

BOOST_AUTO_TEST_CASE(hidden_addresses_have_a_reason) {
  const KernelSymbols k("0000000000000000 T _text\n0000000000000000 t do_thing\n");
  BOOST_TEST(k.hidden().find("hides its addresses") != std::string::npos);
  BOOST_TEST(!k.find(0xffffffff81000000).has_value());
  BOOST_TEST(!KernelSymbols("").hidden().empty());
}

BOOST_AUTO_TEST_CASE(malformed_lines_are_ignored) {
  const KernelSymbols k(
      "\n\nzz T a\nffff\nffff T\nffff T \nffff \nffffffff81000000 T ok\t[\nffff8000 T x\t]m[");
  BOOST_TEST(k.find(0xffffffff81000000)->name == "ok");
}

BOOST_AUTO_TEST_CASE(running_kernel_shows_symbols_or_a_reason) {
  const auto k = KernelSymbols::here();
  BOOST_TEST((k.hidden().empty() || k.hidden().find("kptr_restrict") != std::string::npos));
}

BOOST_AUTO_TEST_SUITE_END()
