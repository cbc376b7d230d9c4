// The nearest names to one that is not known.
#include "base/nearest.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <string_view>

using namespace recount::base;
using boost::test_tools::per_element;
using Names = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(nearest_names)

BOOST_AUTO_TEST_CASE(edit_distances) {
  BOOST_TEST(recount::base::edit_distance("", "abc") == 3U);
  BOOST_TEST(recount::base::edit_distance("sweep", "sweep") == 0U);
  BOOST_TEST(recount::base::edit_distance("kitten", "sitting") == 3U);
  BOOST_TEST(recount::base::edit_distance("plt", "PLOT") == 1U);
  BOOST_TEST(recount::base::edit_distance("CYCLES", "cycles") == 0U);
  BOOST_TEST(recount::base::edit_distance("cylces", "cycles") == 1U); // a swap is one edit
  BOOST_TEST(recount::base::edit_distance("ca", "abc") == 3U); // optimal string alignment, not full Damerau
}

BOOST_AUTO_TEST_CASE(nearest_names_come_first) {
  const Names known{"PAGE-FAULTS", "MINOR-FAULTS", "MAJOR-FAULTS", "CPU-CLOCK"};
  BOOST_TEST(recount::base::nearest("page-fault", known).front() == "PAGE-FAULTS");
  BOOST_TEST(recount::base::nearest("MAJOR-FALUTS", known).front() == "MAJOR-FAULTS");
  BOOST_TEST(recount::base::nearest("evnts", {"doctor", "events", "sweep"}) == Names{"events"},
             per_element());
  BOOST_TEST(recount::base::nearest("zzzzzz", known).empty());
  BOOST_TEST(recount::base::nearest("FAULTS", known, 2).size() == 2U);
  BOOST_TEST(recount::base::nearest("ab", {"ab1", "ab2", "ab3", "ab4"}).size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_third_of_the_longer_name_may_differ) {
  BOOST_TEST(recount::base::nearest("abcdef", {"abcdxy"}).size() == 1U);
  BOOST_TEST(recount::base::nearest("abcdef", {"abcxyz"}).empty());
  BOOST_TEST(recount::base::nearest("a", {"b"}).size() == 1U); // one edit always
  BOOST_TEST(recount::base::nearest("a", {"bc"}).empty());
}

BOOST_AUTO_TEST_CASE(substrings_rank_after_misspellings) {
  BOOST_TEST(recount::base::nearest("CLOCK", {"CPU-CLOCK", "CLOAK"}) == (Names{"CLOAK", "CPU-CLOCK"}),
             per_element());
  BOOST_TEST(recount::base::nearest("PAPI_L1_DCM:u=0:k=1", {"PAPI_L1_DCM"}).size() == 1U);
  BOOST_TEST(recount::base::nearest("ab", {"xxxxab"}).empty()); // two letters are in everything
}

BOOST_AUTO_TEST_CASE(prose) {
  BOOST_TEST(recount::base::did_you_mean(Names{}).empty());
  BOOST_TEST(recount::base::did_you_mean(Names{"a"}) == "did you mean a?");
  BOOST_TEST(recount::base::did_you_mean(Names{"a", "b", "c"}) == "did you mean a, b or c?");
  BOOST_TEST(recount::base::did_you_mean("polt", Names{"plot", "sweep"}) == "did you mean plot?");
  BOOST_TEST(recount::base::did_you_mean("zzzzzz", Names{"plot"}, "see the list") == "see the list");
  const std::array<std::string_view, 2> views{"plot", "sweep"};
  BOOST_TEST(recount::base::did_you_mean("polt", views) == "did you mean plot?");
  BOOST_TEST(recount::base::did_you_mean_or_all("polt", {"plot", "sweep"}) == "did you mean plot?");
  BOOST_TEST(recount::base::did_you_mean_or_all("zzzzzz", {"plot", "sweep"}) == "known: plot, sweep");
}

BOOST_AUTO_TEST_SUITE_END()
