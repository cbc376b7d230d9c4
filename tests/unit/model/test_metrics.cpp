// The counts under the names of presets, and their definitions in the manual.
#include "model/metrics.hpp"
#include "random_machine.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>

using namespace recount::model;

BOOST_AUTO_TEST_SUITE(preset_names)

BOOST_AUTO_TEST_CASE(hold_the_counts_they_name) {
  MachineDescription machine = parse_machine(
      R"({"name": "m", "levels": [{"name": "L1", "size": 64, "line": 64, "ways": 1},
                                  {"name": "L2", "size": 256, "line": 64, "ways": 4}]})",
      "m.json");
  Hierarchy caches(machine);
  caches.store(0, 1); // misses L1 and L2
  caches.load(64, 1); // misses both, writes 0 back
  caches.load(0, 1);  // misses L1
  caches.load(1, 1);  // hits L1
  const auto m = metrics(caches);
  BOOST_TEST(m.at("PAPI_LD_INS") == 3);
  BOOST_TEST(m.at("PAPI_SR_INS") == 1);
  BOOST_TEST(m.at("PAPI_LST_INS") == 4);
  BOOST_TEST(m.at("PAPI_L1_DCA") == 4);
  BOOST_TEST(m.at("PAPI_L1_DCM") == 3);
  BOOST_TEST(m.at("PAPI_L1_DCH") == 1);
  BOOST_TEST(m.at("PAPI_L1_LDM") == 2);
  BOOST_TEST(m.at("PAPI_L1_STM") == 1);
  BOOST_TEST(m.at("PAPI_L2_DCA") == 3); // the write-back is not among them
  BOOST_TEST(m.at("PAPI_L2_DCM") == 2);
  BOOST_TEST(m.at("PAPI_L2_DCH") == 1);
  BOOST_TEST(m.at("PAPI_L2_DCR") == 2);
  BOOST_TEST(m.at("PAPI_L2_DCW") == 1);
  BOOST_TEST(m.at("PAPI_L2_LDM") == 1);
  BOOST_TEST(m.at("PAPI_L2_STM") == 1);
  BOOST_TEST(m.at("MODEL_L1_WRITE_BACKS") == 1);
  BOOST_TEST(m.at("MODEL_L1_EVICTIONS") == 2);
  BOOST_TEST(m.count("PAPI_L3_DCM") == 0u); // "not counted" is not 0
  BOOST_TEST(m.count("PAPI_TLB_DM") == 0u);
}

BOOST_AUTO_TEST_CASE(count_page_walks_among_the_lines_brought_in) {
  MachineDescription machine = parse_machine(
      R"({"name": "m", "levels": [{"name": "L1", "size": 4096, "line": 64, "ways": 4}],
          "tlb": {"page": 4096, "levels": [{"entries": 1, "ways": 1}]}})",
      "m.json");
  Hierarchy caches(machine);
  caches.load(0, 8);
  caches.load(8, 8);
  const auto m = metrics(caches);
  BOOST_TEST(m.at("PAPI_TLB_DM") == 1);
  BOOST_TEST(m.at("PAPI_L1_DCM") == 2);
  BOOST_TEST(m.at("MODEL_L1_DEMAND_MISSES") == 1);
  BOOST_TEST(m.at("MODEL_L1_WALK_MISSES") == 1);
  BOOST_TEST(m.at("PAPI_L1_DCA") == 2);
}

BOOST_AUTO_TEST_CASE(count_what_the_machine_says) {
  MachineDescription machine = parse_machine(
      R"({"name": "m", "levels": [
            {"name": "L1", "size": 64, "line": 64, "ways": 1},
            {"name": "L2", "size": 1024, "line": 64, "ways": 16,
             "prefetch": [{"type": "adjacent-line"}, {"type": "streamer", "distance": 1}]}],
          "presets": {"PAPI_L2_DCM": {"MODEL_L2_DEMAND_MISSES": 1, "MODEL_L2_WALK_MISSES": 1,
            "MODEL_L2_ADJACENT_LINE_FETCHES": 1, "MODEL_L2_STREAMER_FETCHES": 2}}})",
      "m.json");
  Hierarchy caches(machine);
  caches.load(0, 1);  // misses both; the pair of line 0 is line 1
  caches.load(64, 1); // hits in L2 and starts the streamer, which brings line 2
  const auto m = metrics(caches);
  BOOST_TEST(m.at("MODEL_L2_DEMAND_MISSES") == 1);
  BOOST_TEST(m.at("MODEL_L2_ADJACENT_LINE_FETCHES") == 1);
  BOOST_TEST(m.at("MODEL_L2_ADJACENT_LINE_USEFUL") == 1);
  BOOST_TEST(m.at("MODEL_L2_STREAMER_FETCHES") == 1);
  BOOST_TEST(m.at("MODEL_L2_STREAMER_USELESS") == 0);
  BOOST_TEST(m.at("MODEL_L2_PREFETCHES") == 2);
  BOOST_TEST(m.at("PAPI_L2_DCM") == 1 + 1 + 2);
  BOOST_TEST(m.at("PAPI_L2_LDM") == 1);                     // the machine says nothing of it
  machine.presets["PAPI_L2_DCM"]["MODEL_L3_EVICTIONS"] = 1; // there is no L3: not counted
  BOOST_TEST(metrics(Hierarchy(machine)).count("PAPI_L2_DCM") == 0u);
}

// The 64 lines of a page, each once. L1: two demand misses, then its prefetcher fetches the other lines; the
// walk reads one line. L2's prefetcher, started by the second line as well, brings lines 2 and 3 before L1's
// prefetcher requests them, and is ahead from then on: L2 misses lines 0 and 1 and the line of the walk.
BOOST_AUTO_TEST_CASE(presets_of_zen_count_prefetches_of_the_first_level_only) {
  for (const char* const name : {"ryzen-5950x-prefetch", "epyc-9654-prefetch"}) {
    const MachineDescription described = recount::model::machine(name);
    Hierarchy caches(described);
    for (std::uint64_t line = 0; line < 64; ++line)
      caches.load(line * 64, 8);
    const auto m = metrics(caches);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(m.at("MODEL_L1_DEMAND_MISSES") == 2);
      BOOST_TEST(m.at("PAPI_L1_DCM") == 64 + 1);
      BOOST_TEST(m.at("PAPI_L2_DCM") == 2 + 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(are_known_without_a_simulation) {
  for (const char* const machine : {"i7-9700-l3", "i7-9700-prefetch"}) {
    const MachineDescription described = recount::model::machine(machine);
    std::vector<std::string> names;
    Hierarchy caches(described);
    caches.fetch(0, 1); // without which nothing of instructions is counted
    for (const auto& [name, value] : metrics(caches))
      names.push_back(name);
    BOOST_TEST(metric_names(described, true) == names, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(are_defined_in_the_manual) {
  std::ifstream page(RECOUNT_MACHINES_PAGE);
  BOOST_REQUIRE(page.good());
  std::ostringstream text;
  text << page.rdbuf();
  MachineDescription machine = recount::model::machine("i7-9700-l3");
  machine.tlb = TlbDescription{4096, {{64, 4}, {1536, 12}}};
  machine.levels[1].prefetch = {{Prefetch::next_line}, {Prefetch::adjacent_line}, {Prefetch::streamer}};
  for (std::string name : metric_names(machine, true)) {
    for (const char* prefix : {"_L", "_TLB", "_ITLB"}) { // the page writes the level's number as n
      const auto at = name.find(prefix);
      if (at == std::string::npos || name == "PAPI_LD_INS" || name == "PAPI_LST_INS") continue;
      const std::size_t digit = at + std::string(prefix).size();
      if (digit < name.size() && name[digit] >= '0' && name[digit] <= '9') name[digit] = 'n';
    }
    BOOST_TEST((text.str().find("It " + name) != std::string::npos), name << " is not defined");
  }
}

BOOST_AUTO_TEST_CASE(need_no_level_that_none_of_them_tells_of) {
  int shortened = 0;
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    const MachineDescription machine = random_machine(chance, false);
    const auto names = metric_names(machine);
    const std::vector<std::string> requested{
        names[static_cast<std::size_t>(chance.from(0, std::ssize(names) - 1))], "no metric of any machine"};
    const MachineDescription enough = enough_for(machine, requested);
    shortened += enough.levels.size() < machine.levels.size();
    Hierarchy all(machine), fewer(enough);
    for (const Access& a : random_trace(chance, 400))
      for (Hierarchy* caches : {&all, &fewer})
        a.store ? caches->store(a.address, a.bytes) : caches->load(a.address, a.bytes);
    BOOST_TEST_REQUIRE(metrics(all).at(requested[0]) == metrics(fewer).at(requested[0]),
                       requested[0] << ", seed " << seed);
  }
  BOOST_TEST(shortened > RECOUNT_PROPERTY_CASES / 20);
}

BOOST_AUTO_TEST_SUITE_END()
