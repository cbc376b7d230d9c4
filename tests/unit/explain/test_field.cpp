// Counts that strangers published (tests/data/field): what recount explain finds in them by itself.
#include "base/statistics/statistics.hpp"
#include "commands/explain/explanation.hpp"
#include "model/machine.hpp"
#include "run/result/products.hpp"
#include "tables.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cmath>
#include <map>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(published_field)

namespace {

const std::vector<Group>& groups() {
  static const std::vector<Group> all = read_measured(RECOUNT_FIELD "/field.csv");
  return all;
}

Group find_group(const std::string& name) {
  Group group =
      *std::ranges::find_if(groups(), [&](const Group& one) { return one.name.ends_with(" " + name); });
  for (auto& [metric, column] : group.columns) // longer rows have the law of these
    std::erase_if(column, [](const auto& one) { return one.first.n > 4096 && one.first.block == 0; });
  return group;
}

Explanation explain_group(const Group& group) {
  return Explainer(shipped_hypotheses(), shared_predictor()).explain(group);
}

/// Of a group, computed once.
const Explanation& explanation(const std::string& name) {
  static std::map<std::string, Explanation> all;
  const auto at = all.find(name);
  return at != all.end() ? at->second : all.emplace(name, explain_group(find_group(name))).first->second;
}

std::vector<std::string> machines(const Explanation& e) {
  std::vector<std::string> names;
  for (const Trial* trial : e.survivors())
    names.push_back(trial->hypothesis->machine);
  return names;
}

bool counts(const Explanation& e, const std::string& name) {
  return std::ranges::any_of(
      e.counts, [&](const CountTrial& trial) { return trial.survives && trial.hypothesis->name == name; });
}

/// Median of |modelled / measured - 1| over the cells of some loops, in percent.
double deviation(const Explanation& e, const std::string& machine, const std::string& loops) {
  std::vector<double> all;
  for (const Trial& trial : e.trials)
    if (trial.hypothesis->machine == machine)
      for (const Comparison& c : trial.compared)
        if (c.cell.loops == loops) all.push_back(100 * std::abs(c.predicted.value / c.measured - 1));
  return all.empty() ? 1e9 : statistics::median(all);
}

const std::vector<std::string> skylake{"i7-9700"};

} // namespace

BOOST_AUTO_TEST_CASE(every_group_is_read) {
  BOOST_TEST(groups().size() == 28U);
  std::size_t runs = 0;
  for (const Group& group : groups())
    for (const auto& [cell, values] : group.column(l1_metric))
      runs += values.runs.size();
  BOOST_TEST(runs == 2131U);
}

BOOST_AUTO_TEST_CASE(the_hashed_index_of_skylake_is_the_only_story_left, *boost::unit_test::label("more")) {
  for (const char* name : {"g01", "g03", "g06", "g08", "g09", "g13", "g19", "g20", "g25", "g28"}) {
    const Explanation e = explanation(name);
    BOOST_TEST_CONTEXT(name) BOOST_TEST(machines(e) == skylake, boost::test_tools::per_element());
    BOOST_TEST_CONTEXT(name) BOOST_TEST(deviation(e, "i7-9700", "ijk") < 1);
  }
}

BOOST_AUTO_TEST_CASE(huge_pages_are_found_and_do_not_tell_the_machine, *boost::unit_test::label("more")) {
  for (const char* name : {"g30", "g32", "g33", "g35"}) {
    const auto left = machines(explanation(name));
    BOOST_TEST_CONTEXT(name) {
      for (const char* machine : {"i7-2600~huge", "i7-4770~huge", "i7-9700~huge"})
        BOOST_TEST(std::ranges::count(left, machine) == 1);
      for (const char* machine : {"i7-2600", "i7-4770", "i7-9700"})
        BOOST_TEST(std::ranges::count(left, machine) == 0);
      BOOST_TEST(!explanation(name).undetermined().empty());
    }
  }
  // 48 KiB hold the lines of a column of 600 rows, and not of 1000: without that size, L1 is open as well.
  BOOST_TEST(std::ranges::count(machines(explanation("g30")), "i5-1035g1~huge") == 0);
  BOOST_TEST(std::ranges::count(machines(explanation("g33")), "i5-1035g1~huge") == 1);
}

BOOST_AUTO_TEST_CASE(other_machines_are_found_by_their_tlbs) {
  BOOST_TEST(machines(explanation("g36")) == std::vector<std::string>{"i7-2600"},
             boost::test_tools::per_element());
  BOOST_TEST(std::ranges::count(machines(explanation("g38")), "ryzen-5950x") == 1);
  for (const char* machine : {"i7-9700", "epyc-9654", "ryzen-5950x~huge", "ryzen-5950x~stlb=2048:16",
                              "ryzen-5950x~stlb=2048:8:xor"})
    BOOST_TEST(std::ranges::count(machines(explanation("g38")), machine) == 0);
  BOOST_TEST((explanation("g34").l1 && explanation("g34").survivors().empty()));
}

BOOST_AUTO_TEST_CASE(what_presets_of_l2_count_differs_between_vendors) {
  for (const char* name : {"g01", "g06", "g20", "g30", "g32"})
    BOOST_TEST_CONTEXT(name) BOOST_TEST(counts(explanation(name), "twice"));
  BOOST_TEST(counts(explanation("g38"), "few"));
  for (const char* name : {"g40", "g41", "g42"}) { // counts of L2 alone: no machine is simulated
    Group group = find_group(name);
    group.columns.erase(l1_metric);
    BOOST_TEST_CONTEXT(name) BOOST_TEST(counts(explain_group(group), "few"));
  }
  BOOST_TEST(counts(explanation("g35"), "some"));
}

BOOST_AUTO_TEST_CASE(mistakes_of_tables_are_found) {
  const auto has = [](const char* group, TableFinding::Kind kind) {
    return std::ranges::any_of(check_table(find_group(group)),
                               [&](const TableFinding& finding) { return finding.kind == kind; });
  };
  BOOST_TEST(has("g08", TableFinding::Kind::digit_lost));
  BOOST_TEST(!has("g01", TableFinding::Kind::digit_lost));
  BOOST_TEST(has("g25", TableFinding::Kind::rounded));
  BOOST_TEST(has("g42", TableFinding::Kind::outlier));
  BOOST_REQUIRE(explanation("g09").moved.size() == 1U);
  BOOST_TEST((explanation("g09").moved[0].loops == "blocked" && explanation("g09").moved[0].digit));
  BOOST_TEST(explanation("g01").moved.empty());
  BOOST_REQUIRE(explanation("g19").other_loops.size() == 1U);
  for (const auto& order : explanation("g19").other_loops[0].orders)
    BOOST_TEST(order.find("two steps of k") != std::string::npos);
}

/// "validated" in the descriptions is what this file shows.
BOOST_AUTO_TEST_CASE(descriptions_state_how_well_they_were_validated) {
  std::map<std::string, std::size_t> groups_of;
  for (const auto& table : matmul::read_published(RECOUNT_FIELD "/field.csv")) {
    const auto machine = table.run.versions.find("machine");
    if (machine == table.run.versions.end()) continue;
    ++groups_of[machine->second.substr(0, machine->second.find('~'))];
  }
  for (const auto& [name, number] : groups_of) {
    const auto validated = model::machine(name).validated;
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(validated);
      BOOST_TEST(validated->groups == static_cast<std::int64_t>(number));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
