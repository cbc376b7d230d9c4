#include "run/stat_plan.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::stat;

BOOST_AUTO_TEST_SUITE(items)

namespace {

/// "a b {c d}": what was understood.
std::string understood(const std::vector<std::string>& lists) {
  std::string text;
  std::optional<std::size_t> open;
  for (const Item& item : parse_items(lists)) {
    if (item.group != open && open) text += "}";
    if (item.group != open && item.group) text += " {";
    text += (text.empty() || text.back() == '{' ? "" : " ") + item.name + (item.weak ? "~" : "");
    open = item.group;
  }
  return text + (open ? "}" : "");
}

std::string refused(const std::string& list) {
  try {
    (void)parse_items({list});
  } catch (const Error& error) {
    return error.problem().cause;
  }
  return "taken";
}

} // namespace

BOOST_AUTO_TEST_CASE(lists_and_groups) {
  BOOST_TEST(understood({"a"}) == "a");
  BOOST_TEST(understood({"a,b", "c"}) == "a b c");
  BOOST_TEST(understood({"a,{b,c},d"}) == "a {b c} d");
  BOOST_TEST(understood({"{a,b},{c,d}"}) == " {a b} {c d}");
  BOOST_TEST(understood({"{a}", "{b}"}) == " {a} {b}");
  BOOST_TEST(understood({" a , b "}) == "a b");
  BOOST_TEST(understood({"a,a,b", "b"}) == "a b");
  BOOST_TEST(understood({}) == "");
  BOOST_TEST(understood({""}) == "");
}

BOOST_AUTO_TEST_CASE(a_name_is_in_each_of_its_groups) {
  BOOST_TEST(understood({"{a,b},{c,b}"}) == " {a b} {c b}");
  BOOST_TEST(understood({"{a,b}", "{b,a,a}"}) == " {a b} {b a}");
  BOOST_TEST(understood({"b,{c,b},b"}) == " {b c}"); // counted with its group wherever it is first named
  BOOST_TEST(understood({"a,b,{c,b}"}) == "a {b c}");
  BOOST_TEST(understood({"a,{a,b}:u"}) == "a {a:u b:u}");
  BOOST_TEST(understood({"{a,b}:u,{a,c}:u,a:u"}) == " {a:u b:u} {a:u c:u}");
  BOOST_TEST(understood({"a,{a,b}:W"}) == " {a~ b~}");
}

BOOST_AUTO_TEST_CASE(modifiers_of_groups) {
  BOOST_TEST(understood({"{a,b}:u,c"}) == " {a:u b:u} c");
  BOOST_TEST(understood({"a,{b,cpu/c/}:ukp"}) == "a {b:ukp cpu/c/ukp}");
  BOOST_TEST(understood({"{a,b}:W,{c,d}"}) == " {a~ b~} {c d}");
  BOOST_TEST(understood({"{a,b}:kWS", "c"}) == " {a:k~ b:k~} c");
  BOOST_TEST(understood({"{a}:u,{b}:k"}) == " {a:u} {b:k}");
  for (const char* wrong : {"{a,b}:", "{a,b}:x", "{a,b}:u:k", "{a,b}u"})
    BOOST_TEST(refused(wrong) != "taken", wrong);
}

BOOST_AUTO_TEST_CASE(names_with_commas_and_slashes) {
  BOOST_TEST(understood({"cpu/event=0x3c,umask=0x0/,msr/tsc/"}) == "cpu/event=0x3c,umask=0x0/ msr/tsc/");
  BOOST_TEST(understood({"{cpu/a,b/:u,c}"}) == " {cpu/a,b/:u c}");
  BOOST_TEST(understood({"mem:0x1000/8:w,perf::X"}) == "mem:0x1000/8:w perf::X");
  BOOST_TEST(understood({"skl::L1D:REPLACEMENT:u,PAPI_L1_DCM"}) == "skl::L1D:REPLACEMENT:u PAPI_L1_DCM");
}

BOOST_AUTO_TEST_CASE(malformed_lists_are_rejected) {
  BOOST_TEST(refused("a,,b") == "a name is missing");
  BOOST_TEST(refused(",a") == "a name is missing");
  BOOST_TEST(refused("a,") == "a name is missing");
  BOOST_TEST(refused("{}") == "a name is missing");
  BOOST_TEST(refused("{a,}") == "a name is missing");
  BOOST_TEST(refused("{a") == "a { without a matching }");
  BOOST_TEST(refused("a}") == "a } without a matching {");
  BOOST_TEST(refused("{a,{b}}") == "a { within a {");
  BOOST_TEST(refused("a{b}") == "a comma is expected before {");
  BOOST_TEST(refused("{a}{b}") == "a comma is expected before {");
  BOOST_TEST(refused("{a}b") == "a comma is expected after }");
  BOOST_TEST(refused("cpu/event=1,b") == "a / is not closed: PMU/terms/");
}

BOOST_AUTO_TEST_SUITE_END()
