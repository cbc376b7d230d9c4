// A family counted in one pass against each of its members simulated alone.
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "random_machine.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(family)

namespace {

recount::model::MachineDescription cache(std::int64_t line) {
  recount::model::MachineDescription machine;
  machine.name = "m";
  machine.levels.emplace_back();
  machine.levels[0].line = line;
  machine.levels[0].size = 4 * line;
  machine.levels[0].ways = 4;
  return machine;
}

void replay(recount::model::Hierarchy& caches, const std::vector<Access>& trace) {
  for (const Access& a : trace)
    a.store ? caches.store(a.address, a.bytes) : caches.load(a.address, a.bytes);
}

void refused(const std::string& sizes) {
  BOOST_CHECK_EXCEPTION(
      (void)recount::model::altered(cache(64), "l1=" + sizes), recount::Error, [&](const recount::Error& e) {
        return e.kind() == recount::ErrorKind::bad_input && e.problem().subject == "m~l1=" + sizes;
      });
}

} // namespace

BOOST_AUTO_TEST_CASE(every_member_counts_as_it_does_alone) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES / 8; ++seed) {
    Chance chance(seed);
    const std::int64_t line = std::int64_t{4} << chance.from(0, 4);
    const recount::model::MachineDescription base = cache(line);
    recount::model::MachineDescription many =
        recount::model::altered(base, "l1=" + std::to_string(line * chance.from(1, 3)) + ":" +
                                          std::to_string(line * chance.from(12, 100)) + "/1:20");
    const auto trace = random_trace(chance, 300);
    const std::int64_t passes = chance.from(1, 9);
    recount::model::Hierarchy one_pass(many);
    recount::model::repeat(one_pass, passes, [&] { replay(one_pass, trace); });
    BOOST_REQUIRE(!many.family.empty());
    for (const recount::model::FamilyMember& member : many.family) {
      const recount::model::MachineDescription alone =
          recount::model::altered(base, "l1=" + recount::model::to_text(member));
      BOOST_REQUIRE(alone.family.empty());
      recount::model::Hierarchy caches(alone);
      for (std::int64_t i = 0; i < passes; ++i)
        replay(caches, trace);
      const auto expected = recount::model::metrics(caches);
      for (const auto& [name, value] : recount::model::metrics(one_pass, member))
        BOOST_TEST(value == expected.at(name),
                   "seed " << seed << " " << recount::model::to_text(member) << ": " << name);
    }
  }
}

BOOST_AUTO_TEST_CASE(members_are_all_ways_that_divide_doubling_sizes) {
  std::vector<std::string> names;
  for (const recount::model::FamilyMember& member :
       recount::model::altered(cache(64), "l1=3K:12K/2:6").family)
    names.push_back(recount::model::to_text(member));
  BOOST_TEST(names == (std::vector<std::string>{"3K/2", "3K/3", "3K/4", "3K/6", "6K/2", "6K/3", "6K/4",
                                                "6K/6", "12K/2", "12K/3", "12K/4", "12K/6"}),
             boost::test_tools::per_element());
  const recount::model::MachineDescription one = recount::model::machine("i7-9700~l1=48K/12");
  BOOST_TEST((one.family.empty() && one.levels.size() == 1 && one.levels[0].sets() == 64 && !one.tlb));
  BOOST_TEST(recount::model::member_names("i7-9700~l1=32K/4:8") ==
                 (std::vector<std::string>{"i7-9700~l1=32K/4", "i7-9700~l1=32K/8"}),
             boost::test_tools::per_element());
  BOOST_TEST(recount::model::member_names("i7-9700") == std::vector<std::string>{"i7-9700"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(names_what_is_known_of_members) {
  const recount::model::MachineDescription many = recount::model::altered(cache(64), "l1=1K:2K/1:4");
  const recount::model::Hierarchy caches(many);
  std::vector<std::string> names;
  for (const auto& [name, value] : recount::model::metrics(caches, many.family.front()))
    names.push_back(name);
  BOOST_TEST(recount::model::metric_names(many) == names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_sizes_are_refused) {
  for (const char* sizes : {"", "32K", "32K/", "/8", "32Q/8", "64K:32K/8", "32K/8:4", "0/1", "32K/0", "1/1",
                            "32K/8K", "32K/1:99999999", "99999999999999999999/1", "32K/7", "2G/1"})
    refused(sizes);
}

BOOST_AUTO_TEST_SUITE_END()
