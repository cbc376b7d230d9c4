// Relations between native events: which do not hold, and the event that is at fault.
#include "run/verdict/joint.hpp"
#include "trials.hpp"

#include <recount/error.hpp>

using namespace recount;
using namespace recount::test;

BOOST_AUTO_TEST_SUITE(joint)

namespace {

constexpr const char* table = "x y | ALL = HIT + MISS | each hits or misses\n"
                              "x   | MISS <= ALL     | a part\n"
                              "x   | FAR <= MISS     | a part\n"
                              "y   | OTHER <= ALL    | a part\n";

using Names = std::vector<std::string>;

std::vector<preset::Identity> of_x() {
  return check::parse_joint_relations(table, "x");
}

check::Inconsistency inconsistency(const std::map<std::string, double>& pass) {
  const check::Counted place{"chase", {}, "perf", {{pass, pass, pass, pass}, {pass, pass, pass, pass}}};
  return check::find_inconsistency(std::vector{place}, of_x());
}

} // namespace

BOOST_AUTO_TEST_CASE(relations_are_read_by_pmu) {
  const auto all = of_x();
  BOOST_TEST_REQUIRE(all.size() == 3U);
  BOOST_TEST(all[0].left == Names{"ALL"});
  BOOST_TEST((all[0].right == Names{"HIT", "MISS"}));
  BOOST_TEST((!all[0].at_most && all[1].at_most));
  BOOST_TEST(check::parse_joint_relations(table, "y").size() == 2U);
}

BOOST_AUTO_TEST_CASE(those_built_in_can_be_read) {
  for (const char* pmu : {"skl", "spr", "amd64_fam19h_zen4"})
    BOOST_TEST(check::joint_relations(pmu).size() >= 5U, pmu);
  constexpr const char* of_any = "x | A <= B | part\nany | C <= D | part\n";
  BOOST_TEST(check::parse_joint_relations(of_any, "x").size() == 2U);
  const auto other = check::parse_joint_relations(of_any, "y");
  BOOST_TEST_REQUIRE(other.size() == 1U);
  BOOST_TEST(other[0].left == Names{"C"});
  BOOST_TEST(check::joint_relations("no such PMU").size() < check::joint_relations("skl").size());
}

BOOST_AUTO_TEST_CASE(consistent_counts_have_no_suspect) {
  const auto none = inconsistency({{"ALL", 10000}, {"HIT", 9000}, {"MISS", 1000}, {"FAR", 500}});
  BOOST_TEST((none.broken.empty() && none.suspects.empty() && none.together.empty()));
}

BOOST_AUTO_TEST_CASE(the_event_whose_removal_restores_consistency_is_named) {
  // MISS counts four times: too much for the sum, and too much for ALL.
  const auto miss = inconsistency({{"ALL", 10000}, {"HIT", 7000}, {"MISS", 12000}, {"FAR", 500}});
  BOOST_TEST(miss.broken.size() == 2U);
  BOOST_TEST((miss.suspects == Names{"ALL", "MISS"})); // ALL may as well count too little
  // FAR exceeds MISS, which a sum that holds vindicates.
  const auto far = inconsistency({{"ALL", 10000}, {"HIT", 9000}, {"MISS", 1000}, {"FAR", 5000}});
  BOOST_TEST(far.broken.size() == 1U);
  BOOST_TEST(far.suspects == Names{"FAR"});
}

BOOST_AUTO_TEST_CASE(several_are_named_where_one_is_not_enough) {
  const auto two = inconsistency({{"ALL", 10000}, {"HIT", 900}, {"MISS", 1000}, {"FAR", 5000}});
  BOOST_TEST(two.broken.size() == 2U);
  BOOST_TEST(two.suspects == Names{"MISS"}); // it is in both
  const auto apart = check::find_inconsistency(
      std::vector{check::Counted{"chase", {}, "perf", {{{{"A", 9000}, {"B", 10}, {"C", 9000}, {"D", 10}}}}}},
      check::parse_joint_relations("x | A <= B | part\nx | C <= D | part\n", "x"));
  BOOST_TEST(apart.suspects.empty());
  BOOST_TEST(apart.together.size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_pmu_is_no_part_of_a_name) {
  BOOST_TEST(check::without_pmu("skl::L2_RQSTS:MISS") == "L2_RQSTS:MISS");
  BOOST_TEST(check::without_pmu("L2_RQSTS:MISS") == "L2_RQSTS:MISS");
}

BOOST_AUTO_TEST_SUITE_END()
