// Demangling, and what a user calls a function.
#include "count/symbol/module.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace recount::symbol;

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(linkage_names_become_source_text) {
  BOOST_TEST(demangle("_ZN4work5touchEPcmm") == "work::touch(char*, unsigned long, unsigned long)");
  BOOST_TEST(demangle("_ZN4work5touchEPcmm.constprop.0").starts_with("work::touch("));
  BOOST_TEST(demangle("main") == "main");
  BOOST_TEST(demangle("") == "");
  BOOST_TEST(demangle("_Z") == "_Z");
  BOOST_TEST(demangle("_ZNoSuchThing") == "_ZNoSuchThing");
}

BOOST_AUTO_TEST_CASE(a_name_that_stands_for_gigabytes_is_left_as_it_is) {
  // Each argument is a pair of the one before (S0_, S1_, ...): the text doubles thirty times.
  std::string bomb = "_Z1f4PairIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto grown = [&](std::size_t times) {
    std::string name = bomb;
    for (std::size_t i = 0; i < times; ++i)
      name += std::string("S_IS") + digits[i] + "_S" + digits[i] + "_E";
    return name;
  };
  BOOST_TEST(demangle(grown(2).c_str()).starts_with("f(Pair<int, int>, Pair<Pair<int, int>"));
  BOOST_TEST(demangle(grown(30).c_str()) == grown(30));
  BOOST_TEST(demangle(("_Z" + std::string(100'000, 'P') + "i").c_str()).size() <= 4097U);
}

BOOST_AUTO_TEST_CASE(the_base_name_has_no_type_no_parameters_and_no_qualifiers) {
  BOOST_TEST(base_name("main") == "main");
  BOOST_TEST(base_name("work::touch(char*, unsigned long)") == "work::touch");
  BOOST_TEST(base_name("void work::bump<long>(long volatile&, long)") == "work::bump<long>");
  BOOST_TEST(base_name("std::map<int, char> ns::A<int (*)(char)>::f(int) const") ==
             "ns::A<int (*)(char)>::f");
  BOOST_TEST(base_name("(anonymous namespace)::f(int)") == "(anonymous namespace)::f");
  BOOST_TEST(base_name("f(int) [clone .constprop.0]") == "f");
  BOOST_TEST(base_name("A::operator()(int) const") == "A::operator()");
  BOOST_TEST(base_name("operator new(unsigned long)") == "operator new");
  BOOST_TEST(base_name("bool operator< <int>(A<int> const&, A<int> const&)") == "operator< <int>");
  BOOST_TEST(base_name("A::operator bool() const") == "A::operator bool");
  BOOST_TEST(base_name("main::{lambda(int, char)#1}::operator()(int, char) const") ==
             "main::{lambda(int, char)#1}::operator()");
  BOOST_TEST(base_name(")").size() <= 1U);
  BOOST_TEST(base_name("").empty());
}

BOOST_AUTO_TEST_SUITE_END()
