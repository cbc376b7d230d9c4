// Replacement policies by hand, a set at a time.
#include "model/hierarchy.hpp"
#include "model/level.hpp"

#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace recount::model;

BOOST_AUTO_TEST_SUITE(replacement)

namespace {

/// Lines are letters. Returns what left, a letter or `-` per access; `.` for a hit.
std::string leaves(Policy policy, std::uint64_t ways, const std::string& accesses,
                   const char* qlru = "srrip") {
  const auto all = static_cast<std::int64_t>(ways);
  Level level(TlbLevel{all, all, {}, policy, *parse_qlru(qlru)}, 1);
  std::string left;
  for (const char line : accesses) {
    const auto number = static_cast<std::uint64_t>(line);
    if (level.use(number, false)) {
      left += '.';
      continue;
    }
    const Level::Entry entry = level.insert(number, false);
    left += entry == Level::empty ? '-' : static_cast<char>(entry >> 1);
  }
  return left;
}

} // namespace

// Ages of ways 0 to 3, first 3333. a to c enter ways 3 to 1. d enters way 0; the others become 3: 1333. e
// takes way 1 (c): 1133. d: 0133. f takes way 2 (b): 0113. g takes way 3 (a), and the others grow by 2: 2331.
// h takes way 1 (e).
BOOST_AUTO_TEST_CASE(quad_age_lru_of_the_second_level_of_coffee_lake) {
  BOOST_TEST(leaves(Policy::qlru, 4, "abcdedfghdfg", "QLRU_H00_M1_R2_U1") == "----c.bae...");
}

// The free way that is taken is the first: a to d enter ways 0 to 3, d leaves 3331. e takes way 0 (a).
BOOST_AUTO_TEST_CASE(quad_age_lru_of_the_second_level_of_cannon_lake) {
  BOOST_TEST(leaves(Policy::qlru, 4, "abcde", "QLRU_H00_M1_R0_U1") == "----a");
}

// Ages 22 after a b, 02 after a. c makes it 13 before it takes way 1 (b): 12; d makes it 23 and takes way 1.
BOOST_AUTO_TEST_CASE(static_rereference_intervals) {
  BOOST_TEST(leaves(Policy::qlru, 2, "abacda", "srrip") == "--.bc.");
}

// Ages 11; a hit takes a from 1 to 0. Before c they become 12. None is 3, so way 0 (a) leaves.
BOOST_AUTO_TEST_CASE(without_an_oldest_line_the_first_way_leaves) {
  BOOST_TEST(leaves(Policy::qlru, 2, "abac", "QLRU_H11_M1_R1_U2_UMO") == "--.a");
}

// Two groups of four. After a to h the group of a is the one used least recently, and its tree points at a.
// Then the other's at e. Then the first again: its tree points to the right half, where d was used last: at
// c.
BOOST_AUTO_TEST_CASE(trees_of_four_in_the_order_of_use) {
  BOOST_TEST(leaves(Policy::lru_plru4, 8, "abcdefghijk") == "--------aec");
  BOOST_TEST(leaves(Policy::lru_plru4, 8, "abcdefghaij") == "--------.ec"); // a is a use of its group
}

// Four leaves for three ways. After a b c the tree points at way 0; after d there, at the leaf behind c: c.
BOOST_AUTO_TEST_CASE(a_tree_with_a_leaf_too_many) {
  BOOST_TEST(leaves(Policy::plru, 3, "abcde") == "---ac");
}

BOOST_AUTO_TEST_CASE(names_of_variants) {
  for (const char* wrong :
       {"QLRU", "QLRU_H12_M1_R0_U0", "QLRU_H22_M1_R0_U0", "QLRU_H11_M4_R0_U0", "QLRU_H11_M1_R3_U0",
        "QLRU_H11_M1_R0_U2", "QLRU_H11_M1_R0_U0_UM", "QLRU_H11_M1_R0_U0x", "qlru_H11_M1_R0_U0"})
    BOOST_TEST(!parse_qlru(wrong).has_value(), wrong);
  BOOST_TEST((parse_qlru("QLRU_H21_M3_R1_U3_UMO") == Qlru{{0, 0, 1, 2}, 3, 1, 3, true}));
  const auto parsed = [](const std::string& policy) {
    return parse_machine(R"({"name": "m", "levels": [{"name": "L1", "size": "4K", "line": 64, "ways": 4},
        {"name": "L2", "size": "8K", "line": 64, "ways": 8, "policy": ")" +
                             policy + "\"}]}",
                         "m.json")
        .levels[1];
  };
  BOOST_TEST((parsed("QLRU_H00_M1_R2_U1").policy == Policy::qlru));
  BOOST_TEST((parsed("srrip").qlru == *parse_qlru("QLRU_H00_M2_R0_U0_UMO")));
  BOOST_TEST((parsed("lru-plru4").policy == Policy::lru_plru4));
  BOOST_CHECK_THROW((void)parsed("QLRU_H00_M1_R2"), recount::Error);
}

// One TLB entry for three accesses to two regions of 512 pages: three walks. A cache of one entry above the
// last level of the page table misses each time, one of two entries hits the third time.
BOOST_AUTO_TEST_CASE(upper_levels_of_the_page_table_are_read_on_a_miss_in_their_caches) {
  const auto reads = [](const std::string& walk, bool huge = false) {
    MachineDescription machine = parse_machine(
        R"({"name": "m", "levels": [{"name": "L1", "size": "4K", "line": 64, "ways": 4}],
            "tlb": {"levels": [{"entries": 1, "ways": 1}])" +
            walk + "}}",
        "m.json");
    Hierarchy caches(huge ? with_huge_pages(machine) : machine);
    for (const std::uint64_t page : {0u, 512u, 0u})
      caches.load(page << 12, 8);
    BOOST_TEST(caches.counts().tlb[0].missed(Cause::load) == 3);
    return caches.counts().levels[0].accessed(Cause::walk);
  };
  BOOST_TEST(reads("") == 3);
  BOOST_TEST(reads(R"(, "walk": [{"entries": 1, "ways": 1}])") == 6);
  BOOST_TEST(reads(R"(, "walk": [{"entries": 2, "ways": 2}])") == 5);
  // The level above misses once: both regions are in one entry of it.
  BOOST_TEST(reads(R"(, "walk": [{"entries": 1, "ways": 1}, {"entries": 1, "ways": 1}])") == 7);
  BOOST_TEST(reads(R"(, "walk": [{"entries": 1, "ways": 1}, {"entries": 1, "ways": 1}])", true) == 4);
}

BOOST_AUTO_TEST_SUITE_END()
