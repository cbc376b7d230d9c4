// Hierarchies of a few lines, traced by hand. "l16" loads and "s16" stores the byte at address 16; "l14/4"
// four bytes. "c1": core 1 continues.
#include "model/hierarchy.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <sstream>

using namespace recount::model;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(hand)

namespace {

/// What one level must have counted; what a row does not name must be 0.
struct Expected {
  std::int64_t loads = 0, load_misses = 0, stores = 0, store_misses = 0;
  std::int64_t evictions = 0, write_backs = 0, invalidations = 0;
  std::int64_t arrived = 0, arrived_missing = 0; ///< write-backs and victims from above
  std::int64_t walks = 0, walk_misses = 0;
  std::int64_t prefetched = 0, prefetch_misses = 0;      ///< requests of prefetchers above
  std::int64_t lost = 0, lost_missed = 0, published = 0; ///< coherence: invalidations, misses, write-backs
};

struct Row {
  std::string what;
  MachineDescription machine;
  std::string trace;
  std::vector<Expected> expected; ///< a level each, then what reached memory
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.what;
}

LevelDescription level(std::int64_t size, std::int64_t ways, Policy policy = Policy::lru) {
  LevelDescription l;
  l.name = "L";
  l.size = size;
  l.line = 16;
  l.ways = ways;
  l.policy = policy;
  return l;
}
LevelDescription with(LevelDescription l, Inclusion inclusion) {
  l.inclusion = inclusion;
  return l;
}
LevelDescription through_without_allocation(LevelDescription l) {
  l.write = Write::through;
  l.allocate = false;
  return l;
}
LevelDescription next_line(LevelDescription l) {
  l.prefetch = {{Prefetch::next_line}};
  return l;
}
LevelDescription adjacent_line(LevelDescription l) {
  l.prefetch = {{Prefetch::adjacent_line}};
  return l;
}
LevelDescription streamer(LevelDescription l, std::int64_t streams, std::int64_t trigger) {
  l.prefetch = {{Prefetch::streamer, streams, trigger, 3, 2}};
  return l;
}
LevelDescription through(LevelDescription l) {
  l.write = Write::through;
  return l;
}
LevelDescription without_allocation(LevelDescription l) {
  l.allocate = false;
  return l;
}
MachineDescription of(std::vector<LevelDescription> levels) {
  return {"hand", "", std::move(levels), {}, 1};
}
LevelDescription hashed(LevelDescription l, std::vector<std::uint64_t> masks) {
  l.index = std::move(masks);
  return l;
}
MachineDescription two_cores(MachineDescription machine, std::size_t private_levels) {
  machine.cores = 2;
  for (std::size_t i = private_levels; i < machine.levels.size(); ++i)
    machine.levels[i].shared = true;
  return machine;
}
LevelDescription longer(LevelDescription l, std::int64_t line) {
  l.line = line;
  return l;
}
MachineDescription hashed_tlb(MachineDescription machine, std::int64_t page,
                              std::vector<std::uint64_t> masks) {
  machine.tlb = TlbDescription{page, {{2, 1, std::move(masks)}}};
  return machine;
}
MachineDescription with_tlb(MachineDescription machine, std::int64_t page, std::int64_t entries) {
  machine.tlb = TlbDescription{page, {{entries, entries}}};
  return machine;
}

// clang-format off
const std::vector<Row> rows = {
  // 2 sets of 1: l32 takes 0's place, l0 takes it back.
  {"direct-mapped", of({level(32, 1)}), "l0 l16 l32 l0 s16",
   {{.loads = 4, .load_misses = 4, .stores = 1, .evictions = 2}, {.loads = 4}}},
  // l32 evicts 16 (0 was used since), l16 evicts 0, l0 evicts 32.
  {"lru", of({level(32, 2)}), "l0 l16 l0 l32 l16 l0",
   {{.loads = 6, .load_misses = 5, .evictions = 3}, {.loads = 5}}},
  // l32 evicts 0, the oldest, so 16 is still there; l0 evicts 16.
  {"fifo", of({level(32, 2, Policy::fifo)}), "l0 l16 l0 l32 l16 l0",
   {{.loads = 6, .load_misses = 4, .evictions = 2}, {.loads = 4}}},
  // After 0 16 32 48 0 the tree points right, and there at 32: l64 evicts it, 16 stays.
  {"tree-plru", of({level(64, 4, Policy::plru)}), "l0 l16 l32 l48 l0 l64 l16 l32",
   {{.loads = 8, .load_misses = 6, .evictions = 2}, {.loads = 6}}},
  // The same under LRU: l64 evicts 16, l16 evicts 32, l32 evicts 48.
  {"lru beside tree-plru", of({level(64, 4)}), "l0 l16 l32 l48 l0 l64 l16 l32",
   {{.loads = 8, .load_misses = 7, .evictions = 3}, {.loads = 7}}},
  // Line 3 falls into set 0 of 3; 16 keeps set 1.
  {"three sets", of({level(48, 1)}), "l0 l16 l32 l48 l0 l16",
   {{.loads = 6, .load_misses = 5, .evictions = 2}, {.loads = 5}}},
  // Line 2 (l32) has the set 0 XOR 1 = 1, line 1 the set 1 and line 3 the set 0: l32 evicts 16, 0 stays.
  // Without the hash l32 would evict 0.
  {"xor of two bits", of({hashed(level(32, 1), {3})}), "l0 l16 l32 l0 l48",
   {{.loads = 5, .load_misses = 4, .evictions = 2}, {.loads = 4}}},
  // Bit 0 of the set is line bit 1, bit 1 is line bits 0 and 2: lines 0 and 5 share set 0, 1 and 4 set 2.
  {"masks", of({hashed(level(64, 1), {2, 5})}), "l0 l16 l64 l80 l16 l0 l32 l48",
   {{.loads = 8, .load_misses = 8, .evictions = 4}, {.loads = 8}}},
  // Pages 1 and 2 share set 1 of the TLB and 0 has set 0, so 0 needs no second walk. Entries 0 and 1 share a
  // line.
  {"a hashed TLB", hashed_tlb(of({level(256, 16)}), 64, {3}), "l0 l64 l128 l0",
   {{.loads = 4, .load_misses = 3, .walks = 3, .walk_misses = 2}, {.loads = 3, .walks = 2}}},
  // Four lines stay, the fifth evicts the first.
  {"fully associative", of({level(64, 4)}), "l0 l64 l128 l192 l0 l256 l64",
   {{.loads = 7, .load_misses = 6, .evictions = 2}, {.loads = 6}}},
  // Bytes 14 to 17 lie in two lines, the store in one.
  {"an access across a line", of({level(64, 4)}), "l14/4 s16/16",
   {{.loads = 2, .load_misses = 2, .stores = 1}, {.loads = 2}}},
  // l16 drives the dirty 0 out: L2 holds it, so the write-back hits there; no demand access.
  {"a write-back hits", of({level(16, 1), level(64, 4)}), "s0 l16 l0",
   {{.loads = 2, .load_misses = 2, .stores = 1, .store_misses = 1, .evictions = 2, .write_backs = 1},
    {.loads = 2, .load_misses = 1, .stores = 1, .store_misses = 1, .arrived = 1},
    {.loads = 1, .stores = 1}}},
  // L2 holds one line and has lost 0 when its write-back comes: taken in without a read from memory.
  {"a write-back misses", of({level(32, 2), level(16, 1)}), "s0 l16 l32",
   {{.loads = 2, .load_misses = 2, .stores = 1, .store_misses = 1, .evictions = 1, .write_backs = 1},
    {.loads = 2, .load_misses = 2, .stores = 1, .store_misses = 1, .evictions = 3, .arrived = 1, .arrived_missing = 1},
    {.loads = 2, .stores = 1}}},
  // The dirty 0 goes to L2, and with l32 l48 on to memory.
  {"a dirty line reaches memory", of({level(16, 1), level(32, 2)}), "s0 l16 l32 l48",
   {{.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 3, .write_backs = 1},
    {.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 2, .write_backs = 1, .arrived = 1},
    {.loads = 3, .stores = 1, .arrived = 1}}},
  // L2 did not see l0 hit, so l32 evicts 0 there, and with it the dirty copy above; l0 then evicts 16 likewise.
  {"inclusive", of({level(32, 2), with(level(32, 2), Inclusion::inclusive)}), "s0 l16 l0 l32 l0",
   {{.loads = 4, .load_misses = 3, .stores = 1, .store_misses = 1, .invalidations = 2},
    {.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 2, .write_backs = 1},
    {.loads = 3, .stores = 1, .arrived = 1}}},
  // 0 goes down dirty, comes up dirty in exchange for 16, goes down again and drives 16 out.
  {"exclusive", of({level(16, 1), with(level(16, 1), Inclusion::exclusive)}), "s0 l16 l0 l32",
   {{.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 3, .write_backs = 2},
    {.loads = 3, .load_misses = 2, .stores = 1, .store_misses = 1, .evictions = 1, .arrived = 3, .arrived_missing = 3},
    {.loads = 2, .stores = 1}}},
  // The first store passes L1 by and is taken in by L2; the second hits in both.
  {"write-through, no allocation", of({through_without_allocation(level(16, 1)), level(64, 4)}), "s0 l0 s0",
   {{.loads = 1, .load_misses = 1, .stores = 2, .store_misses = 1},
    {.loads = 1, .stores = 2, .store_misses = 1},
    {.stores = 1}}},
  // As in "a write-back misses", but L2 passes 0 on and keeps 32: l0 misses in L2 and drives 32 out.
  {"a write-back misses in a level without allocation", of({level(32, 2), without_allocation(level(16, 1))}), "s0 l16 l32 l0",
   {{.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 2, .write_backs = 1},
    {.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 3, .arrived = 1, .arrived_missing = 1},
    {.loads = 3, .stores = 1, .arrived = 1}}},
  // L2 holds 0 and passes its write-back on at once; 0 stays clean there and leaves without a write-back.
  {"a write-back hits a write-through level", of({level(16, 1), through(level(32, 2))}), "s0 l16 l32 l48",
   {{.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 3, .write_backs = 1},
    {.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 2, .arrived = 1},
    {.loads = 3, .stores = 1, .arrived = 1}}},
  // L2 takes 0 in, clean, in place of 32, and passes the write-back on; l0 hits there.
  {"a write-back misses a write-through level", of({level(32, 2), through(level(16, 1))}), "s0 l16 l32 l0",
   {{.loads = 3, .load_misses = 3, .stores = 1, .store_misses = 1, .evictions = 2, .write_backs = 1},
    {.loads = 3, .load_misses = 2, .stores = 1, .store_misses = 1, .evictions = 3, .arrived = 1, .arrived_missing = 1},
    {.loads = 2, .stores = 1, .arrived = 1}}},
  // s0 brings nothing in, so l16 misses, with it 32; l0 misses and finds its next line, 16, there.
  {"no prefetch on a store miss without allocation", of({without_allocation(next_line(level(64, 4)))}), "s0 l16 l0",
   {{.loads = 2, .load_misses = 2, .stores = 1, .store_misses = 1}, {.loads = 2, .stores = 1, .prefetched = 1}}},
  // A store that allocates brings 0 and, as the next line, 16.
  {"prefetch on a store miss with allocation", of({next_line(level(64, 4))}), "s0 l16",
   {{.loads = 1, .stores = 1, .store_misses = 1}, {.stores = 1, .prefetched = 1}}},
  // One translation fits; the two pages' entries share a line of the table.
  {"page walks", with_tlb(of({level(256, 16)}), 64, 1), "l0 l64 l0",
   {{.loads = 3, .load_misses = 2, .walks = 3, .walk_misses = 1}, {.loads = 2, .walks = 1}}},
  // 0 brings 16, which is used; 32 brings 48.
  {"next-line prefetch", of({next_line(level(64, 4))}), "l0 l16 l32",
   {{.loads = 3, .load_misses = 2}, {.loads = 2, .prefetched = 2}}},
  // A prefetcher stays in the page of 4096 bytes.
  {"prefetch at a page's end", of({next_line(level(64, 4))}), "l4080 l4096",
   {{.loads = 2, .load_misses = 2}, {.loads = 2, .prefetched = 1}}},
  // 16 brings 0 and 64 brings 80, the others of their pairs (0 16) (64 80); 48 brings 32.
  {"adjacent-line prefetch", of({adjacent_line(level(256, 16))}), "l16 l0 s64 l80 l48 l32 l96",
   {{.loads = 6, .load_misses = 3, .stores = 1, .store_misses = 1},
    {.loads = 3, .stores = 1, .prefetched = 4}}},
  // The second access in one direction starts it: l16 brings 32 48, l32 64 80 (3 ahead at most), l48 96, l64 112.
  {"streamer", of({streamer(level(256, 16), 4, 2)}), "l0 l16 l32 l48 l48 l64",
   {{.loads = 6, .load_misses = 2}, {.loads = 2, .prefetched = 6}}},
  // Down from 4144: l4128 brings 4112 and 4096, and there the page ends.
  {"streamer downwards", of({streamer(level(256, 16), 4, 2)}), "l4144 l4128 l4112 l4096 l4080",
   {{.loads = 5, .load_misses = 3}, {.loads = 3, .prefetched = 2}}},
  // l16 l32 would start it, but one stream is not enough for two pages: 4096 takes its place in between.
  {"streams", of({streamer(level(256, 16), 1, 2)}), "l0 l4096 l16 l4112 l32",
   {{.loads = 5, .load_misses = 5}, {.loads = 5}}},
  // Three accesses start it. l0 is the third downwards, where the page ends; l64 the third upwards: it brings
  // 80 and 96, l96 brings 112 and 128.
  {"a trigger of three", of({streamer(level(256, 16), 4, 3)}), "l0 l32 l16 l0 l48 l64 l96",
   {{.loads = 7, .load_misses = 5}, {.loads = 5, .prefetched = 4}}},
  // L1 asks for 0 and prefetches 16, which starts the streamer of L2: 32 48. L1 asks for 32, which brings 64 80, and
  // prefetches 48, which brings 96.
  {"a prefetcher sees those of the level above", of({next_line(level(64, 4)), streamer(level(256, 16), 4, 2)}), "l0 l16 l32",
   {{.loads = 3, .load_misses = 2}, {.loads = 2, .load_misses = 1, .prefetched = 2, .prefetch_misses = 1},
    {.loads = 1, .prefetched = 6}}},
  // The load of core 1 finds what core 0 has stored in L2; its store takes the line from core 0, which reads it again.
  {"a line of two cores", two_cores(of({level(64, 4), with(level(256, 16), Inclusion::inclusive)}), 1), "s0 c1 l0 s0 c0 l0",
   {{.loads = 2, .load_misses = 2, .stores = 2, .store_misses = 1, .lost = 1, .lost_missed = 1, .published = 2},
    {.loads = 2, .stores = 1, .store_misses = 1, .arrived = 2}, {.stores = 1}}},
  // l32 evicts 0 from L2 and so from core 0, l0 evicts 16 and so from core 1.
  {"an inclusive level of two cores", two_cores(of({level(64, 4), with(level(32, 2), Inclusion::inclusive)}), 1), "l0 c1 l16 l32 c0 l0",
   {{.loads = 4, .load_misses = 4, .invalidations = 2}, {.loads = 4, .load_misses = 4, .evictions = 2}, {.loads = 4}}},
  // 0 and 16 lie in one line of the last private level: each core takes both its levels' lines from the other.
  {"false sharing", two_cores(of({level(64, 4), longer(level(64, 2), 32)}), 2), "s0 c1 s16 c0 l0 c1 l16",
   {{.loads = 2, .load_misses = 1, .stores = 2, .store_misses = 2, .lost = 1, .lost_missed = 1, .published = 2},
    {.loads = 1, .load_misses = 1, .stores = 2, .store_misses = 2, .lost = 1, .lost_missed = 1},
    {.loads = 1, .stores = 2, .arrived = 2}}},
  // Each core walks for the page itself; the entry is in L2 then.
  {"TLBs of two cores", two_cores(with_tlb(of({level(64, 4), level(256, 16)}), 4096, 2), 1), "l0 c1 l0 c0 l0",
   {{.loads = 3, .load_misses = 2, .walks = 2, .walk_misses = 2},
    {.loads = 2, .load_misses = 1, .walks = 2, .walk_misses = 1}, {.loads = 1, .walks = 1}}},
};
// clang-format on

void replay(Hierarchy& caches, const std::string& trace) {
  std::istringstream words(trace);
  for (std::string word; words >> word;) {
    const auto slash = word.find('/');
    const auto bytes =
        slash == std::string::npos ? 1u : static_cast<unsigned>(std::stoul(word.substr(slash + 1)));
    const std::uint64_t address = std::stoull(word.substr(1));
    if (word[0] == 'c') {
      caches.select(address);
      continue;
    }
    word[0] == 's' ? caches.store(address, bytes) : caches.load(address, bytes);
  }
}

void check(const LevelCounts& counts, const Expected& e) {
  BOOST_TEST(counts.accessed(Cause::load) == e.loads);
  BOOST_TEST(counts.missed(Cause::load) == e.load_misses);
  BOOST_TEST(counts.accessed(Cause::store) == e.stores);
  BOOST_TEST(counts.missed(Cause::store) == e.store_misses);
  BOOST_TEST(counts.evictions == e.evictions);
  BOOST_TEST(counts.write_backs == e.write_backs);
  BOOST_TEST(counts.invalidations == e.invalidations);
  BOOST_TEST(counts.accessed(Cause::write_back) + counts.accessed(Cause::victim) == e.arrived);
  BOOST_TEST(counts.missed(Cause::write_back) + counts.missed(Cause::victim) == e.arrived_missing);
  BOOST_TEST(counts.accessed(Cause::walk) == e.walks);
  BOOST_TEST(counts.missed(Cause::walk) == e.walk_misses);
  BOOST_TEST(counts.accessed(Cause::prefetch) == e.prefetched);
  BOOST_TEST(counts.missed(Cause::prefetch) == e.prefetch_misses);
  BOOST_TEST(counts.accessed(Cause::refill) == 0);
  BOOST_TEST(counts.coherence_invalidations == e.lost);
  BOOST_TEST(counts.coherence_misses == e.lost_missed);
  BOOST_TEST(counts.coherence_write_backs == e.published);
}

} // namespace

BOOST_DATA_TEST_CASE(counts_of, data::make(rows), row) {
  Hierarchy caches(row.machine);
  replay(caches, row.trace);
  const Counts counts = caches.counts();
  BOOST_REQUIRE(row.expected.size() == counts.levels.size() + 1);
  for (std::size_t i = 0; i < counts.levels.size(); ++i) {
    BOOST_TEST_CONTEXT("level " << i + 1) check(counts.levels[i], row.expected[i]);
  }
  BOOST_TEST_CONTEXT("memory") check(counts.memory, row.expected.back());
}

BOOST_AUTO_TEST_CASE(prefetches_are_useful_useless_or_still_there) {
  Hierarchy caches(of({streamer(level(64, 4), 4, 2)}));
  replay(caches, "l0 l16"); // brings 32 and 48
  replay(caches, "l32");    // useful; brings 64 and 80 in place of 0 and 16
  const auto now = [&] { return caches.counts().prefetch.at(0).at(number(Prefetch::streamer)); };
  BOOST_TEST((now() == PrefetchCounts{4, 4, 1, 0}));
  replay(caches, "l8192"); // in place of 48
  BOOST_TEST((now() == PrefetchCounts{4, 4, 1, 1}));
  replay(caches, "l16384"); // in place of 32, which was used
  BOOST_TEST((now() == PrefetchCounts{4, 4, 1, 1}));
  replay(caches, "l32768"); // in place of 64
  BOOST_TEST((now() == PrefetchCounts{4, 4, 1, 2}));
  caches.reset_counters();
  replay(caches, "l80"); // brought in before; brings 96 and 112
  BOOST_TEST((now() == PrefetchCounts{2, 2, 1, 0}));
}

BOOST_AUTO_TEST_CASE(an_access_across_lines_is_one_instruction) {
  Hierarchy caches(of({level(64, 4)}));
  caches.load(10, 40); // lines 0 to 3
  caches.store(30, 4);
  BOOST_TEST(caches.counts().loads == 1);
  BOOST_TEST(caches.counts().stores == 1);
  BOOST_TEST(caches.counts().levels[0].accessed(Cause::load) == 4);
  BOOST_TEST(caches.counts().levels[0].accessed(Cause::store) == 2);
}

BOOST_AUTO_TEST_CASE(a_longer_line_below_is_read_before_a_part_is_written_into_it) {
  MachineDescription machine = of({level(32, 2), level(32, 1)});
  machine.levels[1].line = 32; // one line of two
  Hierarchy caches(machine);
  replay(caches, "s0 l32 l64"); // L2 holds 64..95 when 0..15 comes down
  const Counts counts = caches.counts();
  BOOST_TEST(counts.levels[1].missed(Cause::write_back) == 1);
  BOOST_TEST(counts.memory.accessed(Cause::refill) == 1);
}

BOOST_AUTO_TEST_CASE(counters_restart_and_caches_empty_apart) {
  Hierarchy caches(of({level(64, 4)}));
  replay(caches, "l0 s16");
  caches.reset_counters();
  BOOST_TEST(caches.counts().loads == 0);
  replay(caches, "l0 s16");
  BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 0); // still held
  caches.clear();
  replay(caches, "l0");
  BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 1);
}

BOOST_AUTO_TEST_CASE(a_flushed_line_is_in_no_cache_of_any_core) {
  Hierarchy caches(two_cores(of({level(64, 4), level(128, 4)}), 1));
  replay(caches, "s0 l16 l16");
  caches.flush(5); // dirty in L1, clean in L2
  caches.flush(5);
  Counts counts = caches.counts();
  BOOST_TEST(counts.levels[0].write_backs == 1);
  BOOST_TEST(counts.levels[1].accessed(Cause::write_back) == 0);
  BOOST_TEST(counts.memory.accessed(Cause::write_back) == 1);
  replay(caches, "l0 l16 c1 l0");
  BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 3); // 16, 0 and 0 on the other core
  caches.flush(0);
  caches.reset_counters();
  replay(caches, "l0 c0 l0");
  counts = caches.counts();
  BOOST_TEST(counts.levels[0].missed(Cause::load) == 2);
  BOOST_TEST(counts.levels[1].missed(Cause::load) == 1);
}

BOOST_AUTO_TEST_CASE(software_prefetches_are_neither_loads_nor_stores) {
  Hierarchy caches(of({level(64, 4), level(128, 4)}));
  caches.prefetch(3);
  caches.prefetch(16);
  replay(caches, "l0");
  const Counts counts = caches.counts();
  BOOST_TEST(counts.loads == 1);
  BOOST_TEST(counts.levels[0].missed(Cause::load) == 0);
  BOOST_TEST(counts.levels[0].missed(Cause::prefetch) == 2);
  BOOST_TEST(counts.levels[1].missed(Cause::prefetch) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
