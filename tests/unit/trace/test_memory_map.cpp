// Where data are, by hand-made records, and the longer rows of data that conflict.
#include "model/trace/memory_map.hpp"
#include "model/trace/miss_kinds.hpp"
#include "model/trace/protocol.h"

#include <boost/test/unit_test.hpp>

#include <initializer_list>

namespace {
using namespace recount::trace;
using Kind = MemoryMap::Region::Kind;

bool take(MemoryMap& map, std::uint64_t kind, std::initializer_list<std::uint64_t> words) {
  return map.take(kind, {words.begin(), words.size()});
}
} // namespace

BOOST_AUTO_TEST_SUITE(memory_map)

BOOST_AUTO_TEST_CASE(blocks_lie_on_stacks_and_mappings) {
  MemoryMap map;
  BOOST_TEST(take(map, RT_ANONYMOUS, {0x1000, 0x9000, 7}));
  BOOST_TEST(take(map, RT_STACK, {2, 0x4000, 0x6000}));
  BOOST_TEST(take(map, RT_HEAP, {0x5000, 0x100, 3}));
  BOOST_TEST((map.find(0x50ff)->kind == Kind::block));
  BOOST_TEST(map.find(0x50ff)->number == 3);
  BOOST_TEST((map.find(0x5100)->kind == Kind::stack));
  BOOST_TEST((map.find(0x8fff)->kind == Kind::anonymous));
  BOOST_TEST(!map.find(0x9000));
  BOOST_TEST(take(map, RT_HEAP, {0x5000}));
  BOOST_TEST((map.find(0x50ff)->kind == Kind::stack));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_unmapped_leaves_the_rest_with_its_offsets) {
  MemoryMap map;
  map.map(0x1000, 0x9000, 1);
  BOOST_TEST(take(map, RT_UNMAPPED, {0x2000, 0x3000}));
  BOOST_TEST(map.gone().first == 0x2000);
  BOOST_TEST(map.find(0x1fff).has_value());
  BOOST_TEST(!map.find(0x2000));
  BOOST_TEST(map.find(0x3000)->start == 0x1000);
}

BOOST_AUTO_TEST_CASE(freeing_within_a_block_or_outside_of_all_changes_nothing) {
  MemoryMap map;
  BOOST_TEST(take(map, RT_HEAP, {0x1000, 0x100, 1}));
  BOOST_TEST(take(map, RT_HEAP, {0x1010}));
  BOOST_TEST(take(map, RT_HEAP, {0x9000}));
  BOOST_TEST(map.find(0x1010).has_value());
}

BOOST_AUTO_TEST_CASE(damaged_records_are_refused) {
  MemoryMap map;
  BOOST_TEST(!take(map, RT_HEAP, {}));
  BOOST_TEST(!take(map, RT_HEAP, {1, 2}));
  BOOST_TEST(!take(map, RT_STACK, {1, 2}));
  BOOST_TEST(!take(map, RT_UNMAPPED, {1, 2, 3}));
  BOOST_TEST(!take(map, RT_ANONYMOUS, {1}));
  BOOST_TEST(!take(map, 0xff, {1, 2, 3}));
  // Ends beyond all memory, and before they begin.
  BOOST_TEST(take(map, RT_HEAP, {~0ULL - 8, ~0ULL, 1}));
  BOOST_TEST(map.find(~0ULL - 8)->end == ~0ULL);
  BOOST_TEST(take(map, RT_ANONYMOUS, {0x9000, 0x1000, 1}));
  BOOST_TEST(!map.find(0x5000));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(padding)

BOOST_AUTO_TEST_CASE(rows_get_a_line_after_sixteen_equal_strides) {
  constexpr std::uint64_t start = 0x10000, row = 2048, end = start + 256 * row;
  Padding pad(64);
  std::optional<std::uint64_t> found;
  int misses = 0;
  for (std::uint64_t at = start; !found && at < end; at += row, ++misses)
    found = pad.add_conflict(start, end, at);
  BOOST_TEST(misses == 17); // 16 strides lie between 17 misses
  BOOST_TEST(*found == row);
  BOOST_TEST(pad(start - 1) == start - 1);
  BOOST_TEST(pad(end) == end);
  BOOST_TEST(pad(start) % 4096 == start % 4096);
  for (const std::uint64_t n : {0ULL, 1ULL, 255ULL})
    BOOST_TEST(pad(start + n * row + 8) - pad(start) == n * (row + 64) + 8);
  pad.forget(start);
  BOOST_TEST(pad(start + row) == start + row);
}

BOOST_AUTO_TEST_CASE(neighbouring_lines_and_changing_strides_are_no_rows) {
  Padding pad(64);
  for (std::uint64_t n = 0; n < 1000; ++n)
    BOOST_TEST(!pad.add_conflict(0x10000, 0x90000, 0x10000 + 64 * n));
  for (std::uint64_t n = 0; n < 300; ++n)
    BOOST_TEST(!pad.add_conflict(0x10000, 0x90000, 0x10000 + n * n));
}

BOOST_AUTO_TEST_SUITE_END()
