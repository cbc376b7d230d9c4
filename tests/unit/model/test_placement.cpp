// Draws of placement: virtual bases and physical pages.
#include "model/hierarchy.hpp"
#include "random_machine.hpp"
#include "reference.hpp"

#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace recount::model;

BOOST_AUTO_TEST_SUITE(placement)

namespace {

LevelDescription level(const char* name, std::int64_t size, std::int64_t ways) {
  LevelDescription one;
  one.name = name;
  one.size = size;
  one.ways = ways;
  return one;
}

Placement of(const char* text, std::uint64_t draw) {
  auto placement = parse_placement(text);
  BOOST_REQUIRE(placement.has_value());
  placement->draw = draw;
  return *placement;
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_of_pages_are_permuted) {
  for (const char* text : {"random", "1", "8", "512", "any", "mixed"})
    for (std::uint64_t draw = 0; draw < 5; ++draw) {
      const Placement placement = of(text, draw);
      const PhysicalPages physical(placement);
      const reference::Pages expected(placement);
      std::set<std::uint64_t> seen;
      std::size_t adjacent = 0;
      constexpr std::uint64_t pages = 3000, base = std::uint64_t{1} << 46;
      for (std::uint64_t page = 0; page < pages; ++page) {
        const std::uint64_t array = placement.mixed ? page % 4 << 41 : 0,
                            address = base + page * 4096 + array;
        const std::uint64_t at = physical(address);
        BOOST_REQUIRE(at == expected.physical(address));
        BOOST_REQUIRE(physical(address + 4095) == at + 4095);
        BOOST_REQUIRE(seen.insert(at).second);
        adjacent += page > 0 && at == physical(address - 4096) + 4096;
      }
      if (placement.run) // every run but its first page follows the page before
        BOOST_TEST(adjacent == pages - (pages + (1u << *placement.run) - 1) / (1u << *placement.run));
    }
}

BOOST_AUTO_TEST_CASE(words_for_placements) {
  BOOST_TEST(of("contiguous", 1).contiguous);
  BOOST_TEST(!of("any", 1).run.has_value());
  BOOST_TEST(of("512", 1).run.value() == 9u);
  BOOST_TEST((of("mixed", 1).mixed && !of("mixed", 1).run.has_value()));
  BOOST_TEST(machine("i7-9700~placement=mixed").placement->huge_page == 2 << 20);
  BOOST_TEST(!with_huge_pages(machine("i7-9700~placement=mixed")).placement->mixed);
  for (const char* wrong : {"", "0", "3", "1024", "4K", "4 ", "Random", "huge"})
    BOOST_TEST(!parse_placement(wrong).has_value(), wrong);
  BOOST_CHECK_THROW((void)machine("i7-9700~placement=3"), recount::Error);
  BOOST_CHECK_THROW((void)machine("i7-9700~l1=8K:64K/8~sample"), recount::Error);
  BOOST_TEST(machine("i7-9700~sample").sampled);
  BOOST_TEST(machine("i7-9700~sample~placement=any").placement.has_value());
  BOOST_TEST(without_modes("model:i7-9700~placement=any~no-tlb~sample") == "model:i7-9700~no-tlb");
  BOOST_TEST(without_modes("model") == "model");
}

BOOST_AUTO_TEST_CASE(arrays_are_at_drawn_pages) {
  constexpr std::uint64_t assumed = std::uint64_t{1} << 46;
  BOOST_TEST(array_base({}, assumed, 3) == assumed);
  std::set<std::uint64_t> bases;
  for (std::uint64_t draw = 0; draw < 50; ++draw)
    for (unsigned array = 0; array < 4; ++array) {
      const std::uint64_t base = array_base(of("any", draw), assumed, array);
      BOOST_TEST(base == reference::Pages(of("any", draw)).base(assumed, array));
      bases.insert(base % (std::uint64_t{1} << 41));
    }
  BOOST_TEST(bases.size() > 195u);
  Placement huge = of("any", 1);
  huge.page = 2 << 20;
  BOOST_TEST(array_base(huge, assumed, 1) % (2 << 20) == 0u);
}

BOOST_AUTO_TEST_CASE(a_draw_matters_where_sets_are_selected_by_page_numbers) {
  MachineDescription m;
  m.levels = {level("L1d", 32 << 10, 8)};
  BOOST_TEST(!depends_on_placement(m));
  m.levels.push_back(level("L2", 256 << 10, 4));
  BOOST_TEST(depends_on_placement(m));
  m.levels[1].ways = 64; // 64 sets of 64 bytes: a page
  BOOST_TEST(!depends_on_placement(m));
  m.tlb.emplace();
  m.tlb->levels = {{16, 4}};
  BOOST_TEST(depends_on_placement(m));
}

// The first level of 4 KiB per way sees the same lines whatever the pages; L2 does not.
BOOST_AUTO_TEST_CASE(two_pages_of_one_colour_by_hand) {
  MachineDescription m;
  m.levels = {level("L1d", 4096, 1), level("L2", 8192, 1)};
  m.placement = of("random", 0);
  const PhysicalPages physical(*m.placement);
  std::vector<std::uint64_t> even; // pages whose physical number is even: they share the sets of L2
  for (std::uint64_t page = 0; even.size() < 2; ++page)
    if (physical(page << 12) >> 12 & 1)
      continue;
    else
      even.push_back(page << 12);
  Hierarchy caches(m);
  for (int pass = 0; pass < 10; ++pass)
    for (const std::uint64_t address : even)
      caches.load(address, 8);
  BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 20);
  BOOST_TEST(caches.counts().levels[1].missed(Cause::load) == 20);
}

// Two entries for pages: that of the huge page leaves for the second small one, unless it has an entry of its
// own.
BOOST_AUTO_TEST_CASE(small_and_huge_pages_share_entries_or_not) {
  const std::string start = R"({"name": "m", "levels": [{"name": "L1", "size": "1K", "line": 64, "ways": 4}],
      "tlb": {"levels": [{"entries": 2, "ways": 2}], "huge": {"levels": [)";
  const Placement placement = of("mixed", 3);
  const PhysicalPages pages(placement);
  std::uint64_t huge = 0, small = 0;
  for (std::uint64_t array = 0; array < 64; ++array)
    (pages.huge(array << 41) ? huge : small) = array << 41;
  BOOST_REQUIRE((huge != 0 && small != 0));
  const auto misses = [&](const char* level) {
    MachineDescription machine = parse_machine(start + level + "]}}}", "m.json");
    machine.placement = placement;
    Hierarchy caches(machine);
    for (const std::uint64_t at : {huge, huge + (2 << 20) - 8, small, small + 4096, huge + 4096})
      caches.load(at, 8);
    return caches.counts().tlb[0].missed(Cause::load);
  };
  BOOST_TEST(misses(R"({"shared": true})") == 4);
  BOOST_TEST(misses(R"({"entries": 2, "ways": 2})") == 3);
}

BOOST_AUTO_TEST_CASE(any_hierarchy_counts_as_the_reference_with_drawn_pages) {
  constexpr std::array words{"random", "2", "any", "contiguous", "512", "mixed", "mixed"};
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES; ++seed) {
    Chance chance(seed);
    MachineDescription machine = random_machine(chance, seed % 2 == 0);
    machine.placement = of(words[seed % words.size()], seed);
    if (machine.tlb) machine.placement->huge_page = std::max(machine.tlb->huge_page, machine.placement->page);
    if (machine.tlb) machine.tlb->huge_page = machine.placement->huge_page;
    WideSets::allowed = seed % 3 != 0;
    auto trace = random_trace(chance, 300);
    for (Access& access : trace) { // over 32 pages, of up to 8 arrays
      access.address *= 16;
      access.address += static_cast<std::uint64_t>(chance.from(0, 7)) << 41;
    }
    Hierarchy model(machine);
    reference::Simulator simple(machine);
    for (const Access& a : trace) {
      model.select(a.core);
      simple.select(a.core);
      a.store ? model.store(a.address, a.bytes) : model.load(a.address, a.bytes);
      a.store ? simple.store(a.address, a.bytes) : simple.load(a.address, a.bytes);
    }
    BOOST_REQUIRE_MESSAGE(model.counts() == simple.counts, "seed " << seed << ": " << describe(machine));
  }
  WideSets::allowed = true;
}

BOOST_AUTO_TEST_SUITE_END()
