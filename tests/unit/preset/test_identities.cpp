#include "count/preset/standard.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_CASE(the_table_built_in_is_sound) {
  BOOST_TEST(preset::identities().size() > 100U);
  for (const preset::Identity& identity : preset::identities()) {
    BOOST_TEST(!identity.left.empty());
    BOOST_TEST(!identity.right.empty());
  }
}

BOOST_AUTO_TEST_CASE(error_names_the_line) {
  const auto one = preset::parse_identities("# c\n\nL1_TCM <= L1_DCM + L1_ICM | cisc | why\n", "f");
  BOOST_TEST_REQUIRE(one.size() == 1U);
  BOOST_TEST(one[0].at_most);
  BOOST_TEST((one[0].kind == preset::CpuKind::cisc));
  BOOST_TEST(one[0].right.at(1) == "PAPI_L1_ICM");
  for (const char* bad : {"L1_TCM L1_DCM | any | w", "L1_TCM = NOPE | any | w", "L1_TCM = L1_DCM | x86 | w",
                          "L1_TCM = L1_DCM | any |", "L1_TCM = L1_DCM"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(preset::parse_identities(std::string("\n") + bad, "f")), Error,
                          [](const Error& e) { return e.problem().subject == "f:2"; });
}
