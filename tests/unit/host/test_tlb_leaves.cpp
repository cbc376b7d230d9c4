// TLBs from CPUID. The registers are those of the CPUs named, as published in dumps (InstLatx64); what they
// mean is stated in Intel's SDM, leaf 0x18, and AMD's APM, 0x80000005, 0x80000006 and 0x80000021.
#include "base/host/machine.hpp"

#include <boost/test/unit_test.hpp>
#include <map>

using recount::host::decode_tlbs;
using recount::host::Tlb;

namespace {

using Leaves = std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::uint32_t, 4>>;

std::vector<Tlb> decode(const Leaves& leaves) {
  return decode_tlbs([&](std::uint32_t leaf, std::uint32_t index) {
    const auto at = leaves.find({leaf, index});
    return at == leaves.end() ? std::nullopt : std::optional(at->second);
  });
}
bool same(const std::vector<Tlb>& found, const std::vector<Tlb>& expected) {
  return found == expected;
}

constexpr std::int64_t small = 4096, huge = 2 << 20;

Leaves leaf_18(std::vector<std::array<std::uint32_t, 4>> rows) {
  Leaves leaves;
  for (std::uint32_t index = 0; index < rows.size(); ++index)
    leaves[{0x18, index}] = rows[index];
  return leaves;
}

Leaves amd(std::uint32_t first_huge, std::uint32_t first, std::uint32_t second_huge, std::uint32_t second,
           std::uint32_t features) {
  return {{{0x80000005, 0}, {first_huge, first, 0x20080140, 0x20080140}},
          {{0x80000006, 0}, {second_huge, second, 0x02006140, 0x02009140}},
          {{0x80000021, 0}, {features, 0, 0, 0}}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(tlb_leaves)

// Two structures of 8 ways and 128 sets hold 4 KB pages, only one of them 2 MB pages. Index 1 is of
// instructions, 2 of stores.
BOOST_AUTO_TEST_CASE(an_ice_lake_server_has_two_structures_in_its_second_level) {
  const Leaves xeon = leaf_18({{7, 0, 0, 0},
                               {0, 0x00080007, 1, 0x4122},
                               {0, 0x0010000f, 1, 0x4125},
                               {0, 0x00040001, 0x10, 0x4024},
                               {0, 0x00040006, 8, 0x4024},
                               {0, 0x00080008, 1, 0x4124},
                               {0, 0x00080007, 0x80, 0x4043},
                               {0, 0x00080009, 0x80, 0x4043}});
  BOOST_TEST(
      same(decode(xeon), {{1, small, 64, 4}, {2, small, 2048, 16}, {1, huge, 32, 4}, {2, huge, 1024, 8}}));
}

BOOST_AUTO_TEST_CASE(an_efficient_core_of_alder_lake_is_fully_associative_first) {
  const Leaves core = leaf_18({{4, 0, 0, 0},
                               {0, 0x00300001, 1, 0x121},
                               {0, 0x00040003, 0x200, 0x43},
                               {0, 0x00400001, 1, 0x122},
                               {0, 0x00080008, 1, 0x143}});
  BOOST_TEST(same(decode(core), {{1, small, 48, 48}, {2, small, 2048, 4}, {2, huge, 2048, 4}}));
}

// Associativity 6 means 8 to 15 ways, 5 means 6 or 7: of 3072 entries, 12 and 6 ways give 2^k sets.
BOOST_AUTO_TEST_CASE(amd_encodes_ranges_of_ways) {
  BOOST_TEST(same(decode(amd(0xff40ff40, 0xff40ff40, 0x48002200, 0x68004200, 0)), // Ryzen 9 5950X
                  {{1, small, 64, 64}, {2, small, 2048, 8}, {1, huge, 64, 64}, {2, huge, 2048, 4}}));
  BOOST_TEST(same(decode(amd(0xff48ff40, 0xff48ff40, 0x5c002200, 0x6c004200, 0x62fcf)), // EPYC 9654
                  {{1, small, 72, 72}, {2, small, 3072, 12}, {1, huge, 72, 72}, {2, huge, 3072, 6}}));
}

BOOST_AUTO_TEST_CASE(zen_5_counts_its_second_level_in_32_entries) {
  const Leaves ryzen = amd(0xff60ff40, 0xff60ff40, 0x40802040, 0x60804040, 0xd93fffcf); // Ryzen 9 9950X
  BOOST_TEST(
      same(decode(ryzen), {{1, small, 96, 96}, {2, small, 4096, 8}, {1, huge, 96, 96}, {2, huge, 4096, 4}}));
}

BOOST_AUTO_TEST_CASE(what_is_not_stated_is_left_out) {
  BOOST_TEST(decode({}).empty());
  BOOST_TEST(decode(leaf_18({{0, 0, 0, 0}})).empty()); // as many virtual machines show it
  BOOST_TEST(decode(amd(0, 0, 0, 0, 0)).empty());
  // Associativity 7 is reserved: the small pages cannot be described, the huge ones can.
  BOOST_TEST(same(decode(amd(0xff40ff40, 0xff40ff40, 0x48002200, 0x78004200, 0)),
                  {{1, huge, 64, 64}, {2, huge, 2048, 4}}));
  BOOST_TEST(
      same(decode(amd(0, 0xff40ff40, 0, 0x00004200, 0)), {{1, small, 64, 64}})); // second level disabled
  // Structures of 16 and 8 sets are not one structure.
  BOOST_TEST(decode(leaf_18({{2, 0, 0, 0}, {0, 0x00040001, 16, 0x21}, {0, 0x00040001, 8, 0x21}})).empty());
}

BOOST_AUTO_TEST_CASE(senseless_registers_are_survived) {
  const std::uint32_t ones = ~0U;
  Leaves leaves;
  for (std::uint32_t index = 0; index < 70; ++index)
    leaves[{0x18, index}] = {ones, ones, ones, 0x21 + index % 8};
  BOOST_TEST(decode(leaves).empty());
  BOOST_TEST(decode(leaf_18({{0, 0x00000001, 16, 0x21}})).empty()); // no ways
  BOOST_TEST(decode(leaf_18({{0, 0x00040001, 0, 0x21}})).empty());  // no sets
  const std::vector<Tlb> full = decode(amd(ones, ones, ones, ones, ones));
  BOOST_TEST(same(
      full,
      {{1, small, 255, 255}, {2, small, 131040, 131040}, {1, huge, 255, 255}, {2, huge, 131040, 131040}}));
}

BOOST_AUTO_TEST_CASE(this_machine_states_whole_sets) {
  for (const Tlb& tlb : recount::host::tlbs_by_cpuid(recount::host::this_machine().allowed_cpus.front()))
    BOOST_TEST((tlb.level >= 1 && tlb.entries > 0 && tlb.entries % tlb.ways == 0));
  BOOST_TEST(recount::host::tlbs_by_cpuid(-1).empty());
}

BOOST_AUTO_TEST_SUITE_END()
