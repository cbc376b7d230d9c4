// Instruction fetches, counted by hand.
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <recount/error.hpp>

#include <algorithm>

BOOST_AUTO_TEST_SUITE(instructions)

namespace {

using namespace recount::model;

/// Two lines of instructions and of data, eight lines in the second level; two pages in the first TLBs, eight
/// in the second one, which both share.
MachineDescription machine(const std::string& inclusion, const std::string& more = "") {
  return parse_machine(R"({"name": "hand", "levels": [
      {"name": "L1d", "size": 128, "line": 64, "ways": 2},
      {"name": "L2", "size": 512, "line": 64, "ways": 8, "inclusion": ")" +
                           inclusion + R"("}],
      "tlb": {"page": 4096, "levels": [{"entries": 2, "ways": 2}, {"entries": 8, "ways": 8}]},
      "instructions": {"name": "L1i", "size": 128, "line": 64, "ways": 2,
                       "tlb": [{"entries": 2, "ways": 2}, {"shared": true}])" +
                           more + "}}",
                       "hand.json");
}

void fetch_lines(Hierarchy& caches, std::uint64_t lines) {
  for (std::uint64_t line = 0; line < lines; ++line)
    caches.fetch(line * 64, 4);
}

std::map<std::string, std::int64_t> counted(const Hierarchy& caches) {
  return metrics(caches);
}

} // namespace

// Lines 0, 1, 2, 3 in turn in two ways: the line that is next has always just left.
BOOST_AUTO_TEST_CASE(twice_the_capacity_misses_at_every_line_under_lru) {
  Hierarchy caches(machine("non-inclusive"));
  fetch_lines(caches, 4);
  caches.reset_counters();
  repeat(caches, 5, [&] { fetch_lines(caches, 4); });
  auto all = counted(caches);
  BOOST_TEST(all["PAPI_L1_ICA"] == 20);
  BOOST_TEST(all["PAPI_L1_ICM"] == 20);
  BOOST_TEST(all["PAPI_L1_ICH"] == 0);
  BOOST_TEST(all["PAPI_L2_ICA"] == 20);
  BOOST_TEST(all["PAPI_L2_ICM"] == 0); // all four are in L2
  BOOST_TEST(all["PAPI_L2_TCA"] == 20);
  BOOST_TEST(all["PAPI_L1_DCM"] == 0);
  BOOST_TEST(all["PAPI_L1_TCM"] == 20);
  BOOST_TEST(all["MODEL_L1I_EVICTIONS"] == 20);
  BOOST_TEST(all["PAPI_TLB_IM"] == 0); // one page
}

BOOST_AUTO_TEST_CASE(code_that_fits_misses_once_per_line) {
  Hierarchy caches(machine("non-inclusive"));
  fetch_lines(caches, 2);
  fetch_lines(caches, 2);
  auto all = counted(caches);
  BOOST_TEST(all["PAPI_L1_ICA"] == 4);
  BOOST_TEST(all["PAPI_L1_ICM"] == 2);
  BOOST_TEST(all["PAPI_L2_ICM"] == 2);
}

// Instructions 0 to 2 and data of other lines share L2: eight lines of data throw the instructions out.
BOOST_AUTO_TEST_CASE(data_and_instructions_share_the_second_level) {
  for (const std::string inclusion : {"non-inclusive", "inclusive"}) {
    Hierarchy caches(machine(inclusion));
    fetch_lines(caches, 2);
    for (std::uint64_t line = 32; line < 40; ++line)
      caches.load(line * 64, 8);
    caches.reset_counters();
    fetch_lines(caches, 2);
    auto all = counted(caches);
    const bool inclusive = inclusion == "inclusive"; // they left L1i, too
    BOOST_TEST(all["PAPI_L1_ICM"] == (inclusive ? 2 : 0));
    BOOST_TEST(all["PAPI_L2_ICM"] == (inclusive ? 2 : 0));
  }
}

BOOST_AUTO_TEST_CASE(lines_that_leave_an_inclusive_level_are_counted) {
  Hierarchy caches(machine("inclusive"));
  fetch_lines(caches, 2);
  for (std::uint64_t line = 32; line < 40; ++line)
    caches.load(line * 64, 8);
  // Eight lines of data and the entries that two page walks read, in one line: all of L2 and one more.
  BOOST_TEST(counted(caches)["MODEL_L1I_INVALIDATIONS"] == 2);
}

// Pages 0, 1, 2 in two entries and then in the eight of the second level, which data have filled with others.
BOOST_AUTO_TEST_CASE(pages_of_instructions_are_looked_up_in_both_levels) {
  Hierarchy caches(machine("non-inclusive"));
  const auto pages = [&] {
    for (std::uint64_t page = 0; page < 3; ++page)
      caches.fetch(page * 4096, 4);
  };
  pages();
  caches.reset_counters();
  pages();
  auto all = counted(caches);
  BOOST_TEST(all["MODEL_ITLB1_ACCESSES"] == 3);
  BOOST_TEST(all["MODEL_ITLB1_MISSES"] == 3);
  BOOST_TEST(all["MODEL_ITLB2_ACCESSES"] == 3);
  BOOST_TEST(all["MODEL_ITLB2_MISSES"] == 0);
  BOOST_TEST(all["PAPI_TLB_IM"] == 0);
  BOOST_TEST(all["MODEL_TLB2_ACCESSES"] == 0); // of data
  for (std::uint64_t page = 8; page < 16; ++page)
    caches.load(page * 4096, 8);
  caches.reset_counters();
  pages();
  all = counted(caches);
  BOOST_TEST(all["MODEL_ITLB2_MISSES"] == 3); // pages 1 and 2 leave the first level just before they are next
  BOOST_TEST(all["PAPI_TLB_IM"] == 3);
  BOOST_TEST(all["PAPI_TLB_DM"] == 0);
  BOOST_TEST(all["PAPI_TLB_TL"] == 3);
  BOOST_TEST(all["MODEL_L1_WALK_ACCESSES"] == 3);
}

// The streamer of the second level sees fetches as it sees loads (Intel 248966, L2 prefetchers).
BOOST_AUTO_TEST_CASE(prefetchers_of_the_second_level_see_fetches) {
  MachineDescription with = machine("non-inclusive");
  with.levels[1].prefetch = {{Prefetch::streamer, 4, 2, 4, 1}};
  Hierarchy caches(with);
  fetch_lines(caches, 3); // 1 brings 2, 2 brings 3
  const PrefetchCounts did = caches.counts().prefetch[1][number(Prefetch::streamer)];
  BOOST_TEST(did.fetches == 2);
  BOOST_TEST(did.useful == 1);
  BOOST_TEST(counted(caches)["PAPI_L2_ICM"] == 2);
}

BOOST_AUTO_TEST_CASE(each_core_has_its_own) {
  MachineDescription two = machine("non-inclusive");
  two.cores = 2;
  Hierarchy caches(two);
  fetch_lines(caches, 2);
  caches.select(1);
  fetch_lines(caches, 2);
  caches.select(0);
  fetch_lines(caches, 2);
  BOOST_TEST(counted(caches)["PAPI_L1_ICA"] == 6);
  BOOST_TEST(counted(caches)["PAPI_L1_ICM"] == 4);
}

BOOST_AUTO_TEST_CASE(without_fetches_there_are_no_counts_of_instructions) {
  Hierarchy caches(machine("non-inclusive"));
  caches.load(0, 8);
  BOOST_TEST(!counted(caches).contains("PAPI_L1_ICM"));
  BOOST_TEST(!counted(caches).contains("PAPI_TLB_IM"));
  BOOST_TEST(std::ranges::count(metric_names(machine("non-inclusive")), "PAPI_L1_ICM") == 0);
  BOOST_TEST(std::ranges::count(metric_names(machine("non-inclusive"), true), "PAPI_L1_ICM") == 1);
}

BOOST_AUTO_TEST_CASE(wrong_descriptions_are_refused) {
  const auto refused = [](const std::string& inclusion, const std::string& more) {
    BOOST_CHECK_THROW(static_cast<void>(machine(inclusion, more)), recount::Error);
  };
  refused("exclusive", "");
  refused("non-inclusive", R"(, "write": "back")");
  refused("non-inclusive", R"(, "prefetch": "next-line")");
  BOOST_CHECK_NO_THROW(static_cast<void>(machine("non-inclusive", R"(, "policy": "QLRU_H00_M1_R2_U1")")));
  const auto text = [](const std::string& instructions, const std::string& tlb) {
    return R"({"name": "m", "levels": [{"name": "L1d", "size": 128, "line": 64, "ways": 2},
               {"name": "L2", "size": 512, "line": 64, "ways": 8}])" +
           tlb + R"(, "instructions": )" + instructions + "}";
  };
  const std::string tlb = R"(, "tlb": {"levels": [{"entries": 4, "ways": 4}]})";
  for (const auto& [instructions, with] :
       {std::pair<std::string, std::string>{R"({"name": "L1i", "size": 256, "line": 128, "ways": 2})", ""},
        {R"({"name": "L1i", "size": 128, "line": 64, "ways": 2, "tlb": [{"entries": 4, "ways": 4}]})", ""},
        {R"({"name": "L1i", "size": 128, "line": 64, "ways": 2, "tlb": [{"shared": true}]})", tlb},
        {R"({"name": "L1i", "size": 128, "line": 64, "ways": 2, "tlb": [{"entries": 4, "ways": 4},
             {"shared": true}]})",
         tlb},
        {R"({"name": "L1i", "size": 128, "line": 64})", ""},
        {R"([])", ""}})
    BOOST_TEST_CONTEXT(instructions)
  BOOST_CHECK_THROW(static_cast<void>(parse_machine(text(instructions, with), "m.json")), recount::Error);
}

BOOST_AUTO_TEST_CASE(variants_of_a_machine_keep_what_they_say) {
  const MachineDescription all = machine("non-inclusive");
  BOOST_TEST(altered(all, "no-tlb").instructions->tlb.empty());
  BOOST_TEST(altered(all, "full").instructions->cache.sets() == 1);
  BOOST_TEST(!altered(all, "l1=128/2").instructions);
  BOOST_TEST(!with_huge_pages(all).instructions);
}

BOOST_AUTO_TEST_SUITE_END()
