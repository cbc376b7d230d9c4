// Descriptions: what is read, and what each mistake is told.
#include "base/host/machine.hpp"
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "recount/error.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <fstream>
#include <ostream>

using namespace recount::model;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(machine_description)

namespace {

std::string one_level(const std::string& fields) {
  return R"({"name": "m", "levels": [{"name": "L1d", )" + fields + "}]}";
}
std::string with_l1(const std::string& members) {
  return R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}], )" + members + "}";
}
std::string with_huge(const std::string& members) {
  return with_l1(R"("tlb": {"levels": [{"entries": 4, "ways": 4}], "huge": {)" + members + "}}");
}
std::string two_levels(const std::string& first, const std::string& second) {
  return R"({"name": "m", "levels": [{"name": "L1", "size": 1024, "line": 64, "ways": 4)" + first +
         R"(}, {"name": "L2", "size": 4096, "line": 64, "ways": 4)" + second + "}]}";
}

struct Wrong {
  std::string json;
  std::vector<std::string> says;
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
  return out << wrong.json;
}

const std::vector<Wrong> wrongs = {
    {"{\n  \"name\": \"m\",\n  \"levels\": [,]\n}", {"m.json", "line 3, column 14"}},
    {"", {"m.json", "line 1, column 1"}},
    {"[]", {"not an object"}},
    {R"({"levels": []})", {"name: missing"}},
    {R"({"name": "m"})", {"levels: missing"}},
    {R"({"name": "m", "levels": []})", {"levels: is not a list"}},
    {R"({"name": "m", "name": "n", "levels": []})", {"\"name\" occurs twice"}},
    {R"({"name": "m", "levels": [3]})", {"levels[0] is not an object"}},
    {one_level(R"("size": "32K", "line": 64, "wyas": 8)"), {"levels[0].ways: missing"}},
    {one_level(R"("size": "32K", "line": 64, "ways": 8, "polisy": "lru")"),
     {"levels[0].polisy: unknown field", "policy"}},
    {one_level(R"("size": "32K", "line": 64, "ways": 8, "zzzzzz": 1)"), {"line, ways, index"}},
    {one_level(R"("size": "32K", "line": 64, "ways": 8, "policy": "plur")"),
     {"levels[0].policy: unknown value \"plur\"", "plru"}},
    {one_level(R"("size": "32Q", "line": 64, "ways": 8)"), {"levels[0].size: is not a size", "32Q"}},
    {one_level(R"("size": -1, "line": 64, "ways": 8)"), {"levels[0].size: must be at least 1"}},
    {one_level(R"("size": 1.5, "line": 64, "ways": 8)"), {"levels[0].size: is not an integer"}},
    {one_level(R"("size": 99999999999999999999, "line": 64, "ways": 8)"), {"levels[0].size"}},
    {one_level(R"("size": "65G", "line": 64, "ways": 8)"), {"levels[0].size", "64 GiB"}},
    {one_level(R"("size": "32K", "line": 48, "ways": 8)"), {"levels[0].line: must be a power of two"}},
    {one_level(R"("size": "32K", "line": 64, "ways": "half")"), {"levels[0].ways", "\"full\""}},
    {one_level(R"("size": "32K", "line": 64, "ways": 513)"), {"levels[0].ways: must be from 1 to", "512"}},
    {one_level(R"("size": 192, "line": 64, "ways": 1, "index": "xor")"), {"levels[0].index", "power of two"}},
    {one_level(R"("size": 256, "line": 64, "ways": 1, "index": "hash")"),
     {"levels[0].index: must be", "hash"}},
    {one_level(R"("size": 256, "line": 64, "ways": 1, "index": ["0x1", 2])"),
     {"levels[0].index: a mask is text"}},
    {one_level(R"("size": 256, "line": 64, "ways": 1, "index": ["0x1", "0x2g"])"), {"0x2g"}},
    {one_level(R"("size": 256, "line": 64, "ways": 1, "index": ["0x1"])"),
     {"levels[0].index: 1 mask for 4 sets"}},
    {one_level(R"("size": 384, "line": 64, "ways": 1, "index": ["0x1"])"),
     {"1 mask for 6 sets", "power of two"}},
    {one_level(R"("size": 512, "line": 64, "ways": 1, "index": ["0x3", "0x5", "0x6"])"),
     {"levels[0].index: a mask is the XOR of others"}},
    {one_level(R"("size": 128, "line": 64, "ways": 1, "index": ["0x1000000000000000"])"), {"too high"}},
    {with_l1(R"("tlb": {"levels": [{"entries": 12, "ways": 4, "index": "xor"}]})"),
     {"tlb.levels[0].index", "not 3"}},
    {one_level(R"("size": 1000, "line": 64, "ways": 2)"), {"levels[0].size: 1000 is not a multiple"}},
    {one_level(R"("size": 4160, "line": 64, "ways": 65, "policy": "plru")"),
     {"levels[0].policy: is for at most 64 ways"}},
    {one_level(R"("size": 384, "line": 64, "ways": 6, "policy": "lru-plru4")"),
     {"levels[0].policy: lru-plru4 needs"}},
    {one_level(R"("size": 256, "line": 64, "ways": 4, "policy": "srrip")"), {"levels[0].policy: QLRU"}},
    {one_level(R"("size": 256, "line": 64, "ways": 4, "policy": "QLRU_H00_M1_R2_U2")"),
     {"levels[0].policy: is no variant"}},
    {with_l1(R"("tlb": {"levels": [{"entries": 12, "ways": 4}], "walk": [{"entries": 3, "ways": 2}]})"),
     {"tlb.walk[0].ways"}},
    {one_level(R"("size": 128, "line": 64, "ways": 2, "allocate": 1)"), {"levels[0].allocate: must be true"}},
    {one_level(R"("size": 128, "line": 64, "ways": 2, "latency": -4)"),
     {"levels[0].latency: must be a number"}},
    {one_level(R"("size": 128, "line": 64, "ways": 2, "inclusion": "inclusive")"),
     {"levels[0].inclusion: the first level"}},
    {two_levels("", R"(, "inclusion": "exclusive", "prefetch": "next-line")"), {"levels[1].prefetch"}},
    {two_levels("", R"(, "prefetch": "nextline")"), {"levels[1].prefetch: unknown value", "next-line"}},
    {two_levels("", R"(, "prefetch": [{"type": "stream"}])"),
     {"levels[1].prefetch[0].type: unknown value", "streamer"}},
    {two_levels("", R"(, "prefetch": [{}])"), {"levels[1].prefetch[0].type: missing"}},
    {two_levels("", R"(, "prefetch": [{"type": "none"}])"), {"levels[1].prefetch[0].type"}},
    {two_levels("", R"(, "prefetch": [{"type": "adjacent-line", "degree": 2}])"),
     {"levels[1].prefetch[0].degree: unknown field"}},
    {two_levels("", R"(, "prefetch": [{"type": "streamer", "trigger": 1}])"),
     {"levels[1].prefetch", "trigger 2"}},
    {two_levels("", R"(, "prefetch": [{"type": "streamer"}, {"type": "streamer"}])"), {"two prefetchers"}},
    {with_l1(R"("presets": {"PAPI_L2_DCM": {"MODEL_L1_EVICTIONS": 1}})"),
     {"presets.PAPI_L2_DCM", "no such preset"}},
    {with_l1(R"("presets": {"PAPI_L1_DCM": {"MODEL_L1_EVICTION": 1}})"),
     {"presets.PAPI_L1_DCM.MODEL_L1_EVICTION", "MODEL_L1_EVICTIONS"}},
    {with_l1(R"("presets": {"PAPI_L1_DCM": {"MODEL_L1_EVICTIONS": 0}})"),
     {"presets.PAPI_L1_DCM.MODEL_L1_EVICTIONS: must be at least 1"}},
    {with_l1(R"("preset": {})"), {"preset: unknown field"}},
    {two_levels(R"(, "write": "through")", R"(, "inclusion": "exclusive")"), {"levels[1].inclusion", "L1"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2},
        {"name": "L2", "size": 128, "line": 32, "ways": 2}]})",
     {"levels[1].line: is shorter"}},
    {with_l1(R"("tlb": {"levels": [{"entries": 10, "ways": 4}]})"), {"tlb.levels[0].ways: 10 entries"}},
    {with_l1(R"("tlb": {"page": 3000, "levels": [{"entries": 4, "ways": 4}]})"),
     {"tlb.page: must be a power of two"}},
    {with_huge(R"("page": "3M", "levels": [{"entries": 4, "ways": 4}])"),
     {"tlb.huge.page: must be a power of two"}},
    {with_huge(R"("levels": [{"entries": 4, "ways": 3}])"), {"tlb.huge.levels[0].ways: 4 entries"}},
    {with_huge(R"("levels": [{"shared": true}, {"shared": true}])"),
     {"tlb.huge.levels[1].shared: there is no such level"}},
    {with_huge(R"("levels": [{"shared": true, "entries": 4}])"),
     {"tlb.huge.levels[0].entries: unknown field"}},
    {with_l1(R"("tlb": {"levels": [{"entries": 4, "ways": 1, "index": ["0x2", "0x1"]}],
        "huge": {"levels": [{"shared": true}]}})"),
     {"tlb.huge.levels[0].index: of a shared level"}},
    {one_level(R"("size": 128, "line": 64, "ways": 2, "shared": true)"), {"levels[0].shared", "one core"}},
    {one_level(R"("size": 128, "line": 64, "ways": 2, "shared": 1)"),
     {"levels[0].shared: must be true or false"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2},
        {"name": "L2", "size": 128, "line": 64, "ways": 2, "shared": true},
        {"name": "L3", "size": 128, "line": 64, "ways": 2}]})",
     {"levels[2].shared: must be true below L2"}},
    {R"({"name": "m", "cores": 257, "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}]})",
     {"cores: must be from 1 to 256"}},
};

bool is_bad_input(const recount::Error& e) {
  return e.kind() == recount::ErrorKind::bad_input;
}

} // namespace

BOOST_DATA_TEST_CASE(mistakes_are_named, data::make(wrongs), wrong) {
  BOOST_CHECK_EXCEPTION(
      (void)parse_machine(wrong.json, "m.json"), recount::Error, [&](const recount::Error& e) {
        const std::string message = e.what();
        for (const std::string& part : wrong.says) {
          BOOST_TEST_CONTEXT(message) BOOST_TEST((message.find(part) != std::string::npos), part);
        }
        return is_bad_input(e) && e.problem().subject == "m.json";
      });
}

BOOST_AUTO_TEST_CASE(every_field_is_read) {
  const MachineDescription m = parse_machine(R"({
    "name": "m", "source": "a manual", "seed": 7,
    "levels": [
      {"name": "L1", "size": "1K", "line": 32, "ways": "full", "policy": "fifo", "write": "through",
       "allocate": false, "prefetch": "next-line", "latency": 4.5, "index": "modulo"},
      {"name": "L2", "size": "1M", "line": 64, "ways": 16, "inclusion": "inclusive", "policy": "random",
       "prefetch": [{"type": "adjacent-line"}, {"type": "streamer", "streams": 8, "distance": 5}]}],
    "presets": {"PAPI_L2_DCM": {"MODEL_L2_DEMAND_MISSES": 1, "MODEL_L2_STREAMER_FETCHES": 2}},
    "tlb": {"page": "2M", "levels": [{"entries": 8, "ways": "full"}, {"entries": 12, "ways": 4},
      {"entries": 32, "ways": 4, "index": "xor"}, {"entries": 4, "ways": 1, "index": ["0x81", "0x2"]}]}})",
                                             "m.json");
  BOOST_TEST(m.name == "m");
  BOOST_TEST(m.source == "a manual");
  BOOST_TEST(m.seed == 7u);
  BOOST_REQUIRE(m.levels.size() == 2u);
  const LevelDescription& l1 = m.levels[0];
  BOOST_TEST((l1.size == 1024 && l1.line == 32 && l1.ways == 32 && l1.sets() == 1));
  BOOST_TEST((l1.policy == Policy::fifo && l1.write == Write::through && !l1.allocate));
  BOOST_TEST((l1.prefetch.size() == 1 && l1.prefetch[0].kind == Prefetch::next_line && l1.latency == 4.5));
  const LevelDescription& l2 = m.levels[1];
  BOOST_TEST((l2.size == 1 << 20 && l2.sets() == 1024 && l2.inclusion == Inclusion::inclusive));
  BOOST_REQUIRE(l2.prefetch.size() == 2u);
  BOOST_TEST((l2.prefetch[0].kind == Prefetch::adjacent_line && l2.prefetch[1].kind == Prefetch::streamer));
  BOOST_TEST((l2.prefetch[1].streams == 8 && l2.prefetch[1].distance == 5));
  BOOST_TEST((l2.prefetch[1].trigger == 2 && l2.prefetch[1].degree == 2)); // defaults
  BOOST_TEST(m.presets.at("PAPI_L2_DCM").at("MODEL_L2_STREAMER_FETCHES") == 2);
  BOOST_TEST((l2.policy == Policy::random && l2.write == Write::back && l2.allocate && !l2.latency));
  BOOST_REQUIRE(m.tlb.has_value());
  BOOST_TEST(m.tlb->page == 2 << 20);
  BOOST_TEST((m.tlb->levels.size() == 4 && m.tlb->levels[0].ways == 8 && m.tlb->levels[1].sets() == 3));
  BOOST_TEST((l1.index.empty() && l2.index.empty() && m.tlb->levels[1].index.empty()));
  const std::vector<std::uint64_t> xor_of_three{0x9, 0x12, 0x24}, listed{0x81, 0x2};
  BOOST_TEST((m.tlb->levels[2].index == xor_of_three && m.tlb->levels[3].index == listed));
}

BOOST_AUTO_TEST_CASE(huge_pages_have_entries_of_their_own_or_those_of_small_pages) {
  const std::string start =
      R"({"name": "m", "levels": [{"name": "L1", "size": "1K", "line": 64, "ways": 4}])";
  const auto misses = [](const MachineDescription& m) { // over 4 pages of 2 MiB, second pass
    Hierarchy caches(m);
    for (int pass = 0; pass < 2; ++pass) {
      caches.reset_counters();
      for (std::uint64_t i = 0; i < 2048; ++i)
        caches.load(i << 12, 1);
    }
    return caches.counts().tlb.back().missed(Cause::load);
  };
  const auto plain = parse_machine(start + R"(, "tlb": {"levels": [{"entries": 4, "ways": 4}]}})", "m.json");
  BOOST_TEST(misses(plain) == 2048);
  BOOST_TEST(with_huge_pages(plain).tlb->page == 2 << 20);
  BOOST_TEST(misses(with_huge_pages(plain)) == 0);
  const auto fewer = parse_machine(start + R"(, "tlb": {"levels": [{"entries": 4, "ways": 4}], "huge":
      {"levels": [{"entries": 2, "ways": 2}]}}})",
                                   "m.json");
  BOOST_TEST(misses(fewer) == 2048);
  BOOST_TEST(misses(with_huge_pages(fewer)) == 4); // one for each page: LRU keeps two of four
  const auto none = parse_machine(start + "}", "m.json");
  BOOST_TEST(!with_huge_pages(none).tlb.has_value());
}

BOOST_AUTO_TEST_CASE(the_i7_9700_is_shipped_as_its_makers_describe_it) {
  const MachineDescription m = machine("i7-9700"), shared = machine("i7-9700-l3");
  BOOST_REQUIRE(m.levels.size() == 2u);
  BOOST_REQUIRE(shared.levels.size() == 3u);
  BOOST_TEST((m.levels[0].size == 32 << 10 && m.levels[0].ways == 8 && m.levels[0].sets() == 64));
  BOOST_TEST((m.levels[1].size == 256 << 10 && m.levels[1].ways == 4 && m.levels[1].sets() == 1024));
  BOOST_TEST((shared.levels[2].size == 12 << 20 && shared.levels[2].line == 64));
  BOOST_REQUIRE((m.tlb && m.tlb->levels.size() == 2 && m.tlb->page == 4096));
  BOOST_TEST((m.tlb->levels[0].entries == 64 && m.tlb->levels[0].ways == 4));
  BOOST_TEST((m.tlb->levels[1].entries == 1536 && m.tlb->levels[1].ways == 12));
  // TLBleed: the set is bits 12 to 18 of the address XOR bits 19 to 25.
  for (const MachineDescription& hashed : {m, shared, machine("i7-9700-prefetch")}) {
    const std::vector<std::uint64_t>& masks = hashed.tlb->levels[1].index;
    BOOST_REQUIRE(masks.size() == 7u);
    for (unsigned bit = 0; bit < 7; ++bit)
      BOOST_TEST(masks[bit] == ((1u << (12 + bit) | 1u << (19 + bit)) >> 12));
    BOOST_TEST(hashed.tlb->huge[1].index.empty()); // of 2 MiB pages nothing is published
  }
  BOOST_TEST(m.source.find("Intel") != std::string::npos);
  BOOST_TEST(m.name == "i7-9700");
}

// A set of L1 is filled by lines 4 KiB apart. After 12 of them the first group of four is the least recently
// used, and its tree points at the first line.
BOOST_AUTO_TEST_CASE(the_first_level_of_an_ice_lake_has_trees_of_four) {
  const MachineDescription m = machine("i5-1035g1~no-tlb"); // walks read lines of the same sets
  BOOST_TEST((m.levels[0].sets() == 64 && m.levels[1].sets() == 1024));
  Hierarchy caches(m);
  for (std::uint64_t line = 0; line < 13; ++line)
    caches.load(line << 12, 8);
  const auto misses = [&] { return caches.counts().levels[0].missed(Cause::load); };
  BOOST_TEST(misses() == 13);
  for (std::uint64_t line = 1; line < 13; ++line)
    caches.load(line << 12, 8);
  BOOST_TEST(misses() == 13);
  caches.load(0, 8);
  BOOST_TEST(misses() == 14);
}

// 256 sets of 4: lines 16 KiB apart share one. After 0 1 2 3 0 the tree points at 2. Pages 1 MiB apart share
// one of the 256 sets of the second level of the TLB, which holds five of them; the first level holds all.
BOOST_AUTO_TEST_CASE(a_neoverse_n1_has_pseudo_lru_and_a_tlb_of_five_ways) {
  const MachineDescription m = machine("neoverse-n1");
  Hierarchy caches(altered(m, "no-tlb")); // walks read lines of the same set
  for (const std::uint64_t line : {0u, 1u, 2u, 3u, 0u, 4u, 1u, 2u})
    caches.load(line << 14, 8);
  BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 6); // 0 to 4, and 2 again
  MachineDescription second = m;
  second.instructions.reset();
  second.tlb->levels.erase(second.tlb->levels.begin());
  Hierarchy translations(second);
  for (int pass = 0; pass < 2; ++pass)
    for (std::uint64_t page = 0; page < 5; ++page)
      translations.load(page << 20, 8);
  BOOST_TEST(translations.counts().tlb[0].missed(Cause::load) == 5);
  translations.load(5u << 20, 8);
  translations.load(0, 8); // evicted
  BOOST_TEST(translations.counts().tlb[0].missed(Cause::load) == 7);
}

// One set of each structure. Lines (or pages) `stride` apart share a set: stride = size / ways, or for TLBs
// page x entries / ways. After a set was filled in order and its first line used again, one more line
// evicts line `victim`: the second under LRU, the first under FIFO, the third under a tree over 4 ways, whose
// half with the first line was used last, and the fifth with three trees (the second tree was used least).
struct OneSet {
  std::string machine, part; ///< "L2", "TLB 1", "huge TLB 1"
  std::uint64_t stride, ways, victim;
};
std::ostream& operator<<(std::ostream& out, const OneSet& set) {
  return out << set.machine << ", " << set.part;
}

constexpr std::uint64_t K = 1 << 10, M = 1 << 20, G = 1 << 30;
const std::vector<OneSet> sets = {
    {"xeon-8380", "L1d", 4 * K, 12, 4},          // 48K / 12
    {"xeon-8380", "L2", 64 * K, 20, 1},          // 1280K / 20
    {"xeon-8380", "L3", 5 * M, 12, 1},           // 60M / 12
    {"xeon-8380", "TLB 1", 64 * K, 4, 1},        // 64 / 4 = 16 sets of 4K
    {"xeon-8380", "TLB 2", 512 * K, 16, 1},      // 2048 / 16 = 128
    {"xeon-8380", "huge TLB 1", 16 * M, 4, 1},   // 32 / 4 = 8 sets of 2M
    {"xeon-8380", "huge TLB 2", 256 * M, 8, 1},  // 1024 / 8 = 128
    {"xeon-8480", "L1d", 4 * K, 12, 1},          // 48K / 12
    {"xeon-8480", "L2", 128 * K, 16, 1},         // 2M / 16
    {"xeon-8480", "L3", 7 * M, 15, 1},           // 105M / 15
    {"xeon-8480", "TLB 1", 64 * K, 6, 1},        // 96 / 6 = 16
    {"xeon-8480", "TLB 2", 512 * K, 16, 1},      // 2048 / 16 = 128
    {"xeon-8480", "huge TLB 1", 16 * M, 4, 1},   // 32 / 4 = 8
    {"xeon-8480", "huge TLB 2", 256 * M, 8, 1},  // 1024 / 8 = 128
    {"i9-12900k-p", "L1d", 4 * K, 12, 1},        // 48K / 12
    {"i9-12900k-p", "L2", 128 * K, 10, 1},       // 1280K / 10
    {"i9-12900k-p", "TLB 1", 64 * K, 6, 1},      // 96 / 6 = 16
    {"i9-12900k-p", "TLB 2", 512 * K, 16, 1},    // 2048 / 16 = 128
    {"i9-12900k-p", "huge TLB 1", 16 * M, 4, 1}, // 32 / 4 = 8
    {"i9-12900k-p", "huge TLB 2", 256 * M, 8, 1},
    {"i9-12900k-e", "L1d", 4 * K, 8, 1},        // 32K / 8
    {"i9-12900k-e", "L2", 128 * K, 16, 1},      // 2M / 16
    {"i9-12900k-e", "TLB 1", 4 * K, 48, 1},     // fully associative
    {"i9-12900k-e", "TLB 2", 2 * M, 4, 1},      // 2048 / 4 = 512
    {"i9-12900k-e", "huge TLB 1", 1 * G, 4, 1}, // the same 512 sets of 2M
    {"ryzen-3700x", "L1d", 4 * K, 8, 1},        // 32K / 8
    {"ryzen-3700x", "L2", 64 * K, 8, 1},        // 512K / 8
    {"ryzen-3700x", "L3", 1 * M, 16, 1},        // 16M / 16
    {"ryzen-3700x", "TLB 1", 4 * K, 64, 1},     // fully associative
    {"ryzen-3700x", "TLB 2", 1 * M, 8, 1},      // 2048 / 8 = 256
    {"ryzen-3700x", "huge TLB 1", 2 * M, 64, 1},
    {"ryzen-3700x", "huge TLB 2", 1 * G, 4, 1}, // 2048 / 4 = 512
    {"ryzen-5950x", "L1d", 4 * K, 8, 1},        // 32K / 8
    {"ryzen-5950x", "L2", 64 * K, 8, 1},        // 512K / 8
    {"ryzen-5950x", "L3", 2 * M, 16, 1},        // 32M / 16
    {"ryzen-5950x", "TLB 1", 4 * K, 64, 1},     // fully associative
    {"ryzen-5950x", "TLB 2", 1 * M, 8, 1},      // 2048 / 8 = 256
    {"ryzen-5950x", "huge TLB 1", 2 * M, 64, 1},
    {"ryzen-5950x", "huge TLB 2", 1 * G, 4, 1}, // 2048 / 4 = 512
    {"epyc-9654", "L1d", 4 * K, 8, 1},          // 32K / 8
    {"epyc-9654", "L2", 128 * K, 8, 1},         // 1M / 8
    {"epyc-9654", "L3", 2 * M, 16, 1},          // 32M / 16
    {"epyc-9654", "TLB 1", 4 * K, 72, 1},       // fully associative
    {"epyc-9654", "TLB 2", 1 * M, 12, 1},       // 3072 / 12 = 256
    {"epyc-9654", "huge TLB 1", 2 * M, 72, 1},
    {"epyc-9654", "huge TLB 2", 1 * G, 6, 1}, // 3072 / 6 = 512
    {"ryzen-9950x", "L1d", 4 * K, 12, 1},     // 48K / 12
    {"ryzen-9950x", "L2", 64 * K, 16, 1},     // 1M / 16
    {"ryzen-9950x", "L3", 2 * M, 16, 1},      // 32M / 16
    {"ryzen-9950x", "TLB 1", 4 * K, 96, 1},   // fully associative
    {"ryzen-9950x", "TLB 2", 2 * M, 8, 1},    // 4096 / 8 = 512
    {"ryzen-9950x", "huge TLB 1", 2 * M, 96, 1},
    {"ryzen-9950x", "huge TLB 2", 2 * G, 4, 1}, // 4096 / 4 = 1024
    {"neoverse-v1", "L1d", 16 * K, 4, 2},       // 64K / 4
    {"neoverse-v1", "L2", 128 * K, 8, 1},       // 1M / 8
    {"neoverse-v1", "TLB 1", 4 * K, 40, 1},     // fully associative
    {"neoverse-v1", "TLB 2", 1 * M, 8, 1},      // 2048 / 8 = 256
    {"neoverse-v2", "L1d", 16 * K, 4, 1},       // 64K / 4
    {"neoverse-v2", "L2", 256 * K, 8, 1},       // 2M / 8
    {"neoverse-v2", "TLB 1", 4 * K, 48, 1},     // fully associative
    {"neoverse-v2", "TLB 2", 1 * M, 8, 1},      // 2048 / 8 = 256
    {"neoverse-n2", "L1d", 16 * K, 4, 1},       // 64K / 4
    {"neoverse-n2", "L2", 128 * K, 8, 1},       // 1M / 8
    {"neoverse-n2", "TLB 1", 4 * K, 44, 1},     // fully associative
    {"neoverse-n2", "TLB 2", 1 * M, 5, 1},      // 1280 / 5 = 256
    {"a64fx", "L1d", 16 * K, 4, 1},             // 64K / 4
    {"a64fx", "TLB 1", 64 * K, 16, 0},          // fully associative, 64K pages, FIFO
    {"a64fx", "TLB 2", 16 * M, 4, 1},           // 1024 / 4 = 256 sets of 64K
};

/// The part alone: as the only cache, or as the only level of the TLB.
MachineDescription alone(const OneSet& set) {
  MachineDescription m = machine(set.machine);
  const auto number = static_cast<std::size_t>(set.part.back() - '1');
  if (set.part.starts_with("L")) {
    m = altered(m, "no-tlb");
    const LevelDescription level = m.levels.at(set.part == "L1d" ? 0 : number);
    m.levels = {level};
    m.levels.front().inclusion = Inclusion::non_inclusive;
    m.levels.front().shared = false;
    return m;
  }
  m.levels.resize(1);
  if (set.part.starts_with("huge")) m = with_huge_pages(m);
  m.tlb->levels = {m.tlb->levels.at(number)};
  m.tlb->huge.clear();
  return m;
}

/// The misses of the part in a second pass over `count` lines.
std::int64_t again(const OneSet& set, std::uint64_t stride, std::uint64_t count) {
  const MachineDescription m = alone(set);
  Hierarchy caches(m);
  for (int pass = 0; pass < 2; ++pass) {
    caches.reset_counters();
    for (std::uint64_t line = 0; line < count; ++line)
      caches.load(line * stride, 8);
  }
  return (m.tlb ? caches.counts().tlb[0] : caches.counts().levels[0]).missed(Cause::load);
}

/// Whether the line is gone after the sequence that is described at OneSet.
bool evicted(const OneSet& set, std::uint64_t line) {
  const MachineDescription m = alone(set);
  Hierarchy caches(m);
  for (std::uint64_t i = 0; i < set.ways; ++i)
    caches.load(i * set.stride, 8);
  caches.load(0, 8);
  caches.load(set.ways * set.stride, 8);
  caches.reset_counters();
  caches.load(line * set.stride, 8);
  return (m.tlb ? caches.counts().tlb[0] : caches.counts().levels[0]).missed(Cause::load) == 1;
}

BOOST_DATA_TEST_CASE(a_set_holds_its_ways_and_replaces_as_described, data::make(sets), set) {
  BOOST_TEST(again(set, set.stride, set.ways) == 0);
  BOOST_TEST(again(set, 2 * set.stride, set.ways) == 0); // not fewer ways of more sets
  BOOST_TEST(again(set, set.stride, set.ways + 1) > 0);
  const MachineDescription m = alone(set);
  const auto all = m.tlb ? static_cast<std::uint64_t>(m.tlb->levels[0].sets())
                         : static_cast<std::uint64_t>(m.levels[0].sets());
  if (all > 1) BOOST_TEST(again(set, set.stride / 2, set.ways + 1) == 0); // two sets
  for (std::uint64_t line = 0; line < set.ways; ++line)
    BOOST_TEST(evicted(set, line) == (line == set.victim), "line " << line);
}

// The last byte of a line and the first of the next: 64 bytes, on A64FX 256.
BOOST_AUTO_TEST_CASE(lines_of_the_machines_have_64_bytes_and_of_a64fx_256) {
  for (const OneSet& set : sets) {
    if (!set.part.starts_with("L")) continue;
    const std::uint64_t line = set.machine == "a64fx" ? 256 : 64;
    Hierarchy caches(alone(set));
    caches.load(0, 8);
    caches.load(line - 8, 8);
    BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 1, set);
    caches.load(line, 8);
    BOOST_TEST(caches.counts().levels[0].missed(Cause::load) == 2, set);
  }
}

// Line 0 is used again after each of the other lines of its set in L2, so it stays in L1; L2 does not see
// these hits. The line that is one too many for L2 evicts it there: an inclusive L2 then removes it from L1.
BOOST_AUTO_TEST_CASE(an_inclusive_second_level_takes_a_hot_line_from_the_first) {
  const std::vector<std::pair<std::string, bool>> inclusive = {
      {"xeon-8380", false},  {"xeon-8480", false},  {"i9-12900k-p", false}, {"i9-12900k-e", false},
      {"ryzen-3700x", true}, {"ryzen-5950x", true}, {"epyc-9654", true},    {"ryzen-9950x", true},
      {"neoverse-v1", true}, {"neoverse-v2", true}, {"neoverse-n2", true},  {"a64fx", true}};
  for (const auto& [name, expected] : inclusive) {
    const MachineDescription m = altered(machine(name), "no-tlb");
    const auto ways = static_cast<std::uint64_t>(m.levels[1].ways),
               stride = name == "a64fx" ? 1U << 19 // set 0 of the hash: bits 19, 20, 24, 28, 33
                                        : static_cast<std::uint64_t>(m.levels[1].size) / ways;
    Hierarchy caches(m);
    caches.load(0, 8);
    for (std::uint64_t i = 1; i <= ways; ++i) {
      const std::uint64_t hashed = (i & 3) << 19 | (i >> 2 & 1) << 24 | (i >> 3 & 1) << 28 | (i >> 4) << 33;
      caches.load(name == "a64fx" ? hashed : i * stride, 8);
      caches.load(0, 8);
    }
    const auto first = caches.counts().levels[0].missed(Cause::load);
    BOOST_TEST(first == static_cast<std::int64_t>(ways) + (expected ? 2 : 1), name);
  }
}

// Nine lines of one set of L2 (8 ways): the first is evicted into L3, where it is found. It moves up, and
// the second takes its place in L3: two lines were taken from above, and L3 has been asked ten times.
BOOST_AUTO_TEST_CASE(the_third_level_of_a_zen_3_is_filled_by_what_leaves_the_second) {
  for (const std::string name :
       {"ryzen-3700x", "ryzen-5950x", "epyc-9654", "ryzen-9950x", "xeon-8380", "xeon-8480"}) {
    const MachineDescription m = altered(machine(name), "no-tlb");
    const auto ways = static_cast<std::uint64_t>(m.levels[1].ways),
               stride = static_cast<std::uint64_t>(m.levels[1].size) / ways;
    Hierarchy caches(m);
    for (std::uint64_t i = 0; i <= ways; ++i)
      caches.load(i * stride, 8);
    caches.load(0, 8);
    const auto third = caches.counts().levels.at(2);
    BOOST_TEST(third.missed(Cause::load) == static_cast<std::int64_t>(ways) + 1, name);
    BOOST_TEST(third.missed(Cause::victim) == 2, name);
  }
}

// The index of the L2 of A64FX is PA<18:8> XOR ((PA<36:34> XOR PA<32:30> XOR PA<31:29> XOR PA<27:25> XOR
// PA<23:21>) << 8). Bits 19, 20, 24, 28 and 33 are not in it, so 16 lines made of them fill set 0. Bit 21
// is in bit 8 of the index like bit 16: both together lead to set 0. Bit 30 is in bits 8 and 9 of it,
// bit 31 in 9 and 10.
BOOST_AUTO_TEST_CASE(the_second_level_of_an_a64fx_is_hashed) {
  const OneSet second{"a64fx", "L2", 0, 16, 0};
  const auto bits = [](std::initializer_list<unsigned> which) {
    std::uint64_t address = 0;
    for (const unsigned bit : which)
      address |= std::uint64_t{1} << bit;
    return address;
  };
  const auto misses = [&](std::uint64_t last) { // in a second pass
    Hierarchy caches(alone(second));
    for (int pass = 0; pass < 2; ++pass) {
      caches.reset_counters();
      for (const std::uint64_t high : {bits({}), bits({24}), bits({28}), bits({33})})
        for (const std::uint64_t low : {bits({}), bits({19}), bits({20}), bits({19, 20})})
          caches.load(high | low, 8);
      caches.load(last, 8);
    }
    return caches.counts().levels[0].missed(Cause::load);
  };
  for (const auto set_0 :
       {bits({24, 28}), bits({21, 16}), bits({22, 17}), bits({23, 18}), bits({25, 16}), bits({26, 17}),
        bits({27, 18}), bits({29, 16}), bits({30, 16, 17}), bits({31, 17, 18}), bits({32, 18}),
        bits({34, 16}), bits({35, 17}), bits({36, 18})})
    BOOST_TEST(misses(set_0) == 17);
  for (const auto other : {bits({8}), bits({15}), bits({16}), bits({18}), bits({21}), bits({30}), bits({36})})
    BOOST_TEST(misses(other) == 0);
}

// A page of the TLB is contiguous in physical memory, also if it has more than 4 KiB.
BOOST_AUTO_TEST_CASE(drawn_pages_are_those_of_the_tlb) {
  PhysicalPages pages(machine("a64fx~placement=random").placement.value());
  for (std::uint64_t at = 0; at < 64 * K; at += 4 * K)
    BOOST_TEST(pages(5 * M + at) == pages(5 * M) + at);
  BOOST_TEST(pages(5 * M) % (64 * K) == 0);
  BOOST_TEST(machine("i7-9700~placement=random").placement->page == 4096);
}

// Of small and huge pages, with stated and unstated TLBs.
BOOST_AUTO_TEST_CASE(the_host_has_the_tlbs_that_are_stated) {
  recount::host::Machine here;
  here.architecture = "x86_64";
  here.caches = {{.level = 1, .type = 'd', .size = 48 << 10, .line = 64, .ways = 12}};
  const std::vector<recount::host::Tlb> tlbs = {
      {1, 4096, 64, 4}, {2, 4096, 2048, 16}, {1, 2 << 20, 32, 4}, {2, 2 << 20, 1024, 8}};
  const MachineDescription stated = host_machine(here, tlbs);
  BOOST_REQUIRE((stated.tlb && stated.tlb->levels.size() == 2 && stated.tlb->huge.size() == 2));
  BOOST_TEST(
      (stated.tlb->page == 4096 && stated.tlb->levels[0].entries == 64 && stated.tlb->levels[1].ways == 16));
  BOOST_TEST((stated.tlb->huge_page == 2 << 20 && stated.tlb->huge[0].entries == 32 &&
              stated.tlb->huge[1].ways == 8));
  BOOST_TEST(stated.source.find("TLBs as CPUID states them") != std::string::npos);
  const MachineDescription none = host_machine(here, {});
  BOOST_TEST((!none.tlb && none.source.find("CPUID states none") != std::string::npos));
  BOOST_TEST(none.cores == 1);
  here.cpus = 16;
  here.threads_per_core = 2;
  here.caches.push_back({.level = 2, .size = 1 << 20, .line = 64, .ways = 16, .shared_by = 2});
  BOOST_TEST((host_machine(here, {}).cores == 8 && !host_machine(here, {}).levels[1].shared));
  here.caches.push_back({.level = 3, .size = 1 << 24, .line = 64, .ways = 16, .shared_by = 8});
  BOOST_TEST((host_machine(here, {}).cores == 4 && host_machine(here, {}).levels[2].shared));
  const MachineDescription only_huge = host_machine(here, {tlbs[2]});
  BOOST_TEST(!only_huge.tlb.has_value());
  here.hypervisor = "KVM";
  const MachineDescription guest = host_machine(here, tlbs);
  BOOST_TEST((!guest.tlb && guest.source.find("virtual machine") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(the_host_has_the_instruction_cache_that_is_stated) {
  recount::host::Machine here;
  here.caches = {{.level = 1, .type = 'd', .size = 48 << 10, .line = 64, .ways = 12},
                 {.level = 1, .type = 'i', .size = 32 << 10, .line = 64, .ways = 8},
                 {.level = 2, .size = 1 << 20, .line = 64, .ways = 16}};
  const MachineDescription stated = host_machine(here, {});
  BOOST_TEST(stated.levels.size() == 2U);
  BOOST_REQUIRE(stated.instructions.has_value());
  const LevelDescription& l1i = stated.instructions->cache;
  BOOST_TEST((l1i.name == "L1i" && l1i.size == 32 * K && l1i.line == 64 && l1i.ways == 8));
  BOOST_TEST((l1i.policy == Policy::lru && stated.instructions->tlb.empty()));
  BOOST_TEST(stated.source.find("instruction cache") == std::string::npos);

  // 64 sets: lines 4 KiB apart share one. Eight of them stay; with nine, LRU evicts the one needed next.
  for (const int lines : {8, 9}) {
    Hierarchy caches(stated);
    for (int pass = 0; pass < 2; ++pass)
      for (int i = 0; i < lines; ++i)
        caches.fetch(static_cast<std::uint64_t>(i) * 4 * K, 64);
    BOOST_TEST(caches.counts().instructions.missed(Cause::fetch) == (lines == 8 ? 8 : 18));
    BOOST_TEST(caches.counts().levels[1].missed(Cause::fetch) == lines);
  }

  here.caches[1].ways = 0; // not stated: fully associative, like a data cache
  BOOST_TEST(host_machine(here, {}).instructions.value().cache.ways == 512);
  here.caches[1].size = 12 << 10; // 192 lines are no 5 ways
  here.caches[1].ways = 5;
  const MachineDescription odd = host_machine(here, {});
  BOOST_TEST((!odd.instructions && odd.source.find("instruction cache: as stated") != std::string::npos));
  here.caches.erase(here.caches.begin() + 1);
  const MachineDescription none = host_machine(here, {});
  BOOST_TEST((!none.instructions && none.source.find("hwloc states none") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(every_shipped_machine_can_be_simulated_and_says_where_it_comes_from) {
  BOOST_TEST(machine_names().size() >= 21u);
  for (const std::string& name : machine_names()) {
    const MachineDescription m = machine(name);
    BOOST_TEST(m.name == name);
    BOOST_TEST(!m.source.empty());
    Hierarchy caches(m);
    caches.load(0, 8);
    BOOST_TEST(caches.counts().levels.back().missed(Cause::load) == 1);
    const bool cited =
        m.source.find("Manual") != std::string::npos || m.source.find("Guide") != std::string::npos;
    BOOST_TEST(cited, name << " cites no manual");
  }
}

BOOST_AUTO_TEST_CASE(cores_are_chosen_by_name) {
  BOOST_TEST(machine("i7-9700-l3").cores == 8);
  BOOST_TEST(machine("i7-9700-l3~cores=3").cores == 3);
  for (const char* wrong : {"i7-9700~cores=0", "i7-9700~cores=257", "i7-9700~cores=", "i7-9700~cores=two"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(machine(wrong)), recount::Error, is_bad_input);
  BOOST_CHECK_EXCEPTION(static_cast<void>(machine("i7-9700~l1=4K:8K/1~cores=2")), recount::Error,
                        is_bad_input);
}

BOOST_AUTO_TEST_CASE(an_unknown_machine_is_told_the_nearest) {
  BOOST_CHECK_EXCEPTION((void)machine("i7-9710"), recount::Error, [](const recount::Error& e) {
    return is_bad_input(e) && std::string(e.what()).find("did you mean i7-9700") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(a_file_is_read_by_its_name) {
  const std::string path = "./recount-test-machine.json";
  std::ofstream(path) << one_level(R"("size": "2K", "line": 64, "ways": 2)");
  BOOST_TEST(machine(path).levels[0].size == 2048);
  std::remove(path.c_str());
  BOOST_CHECK_EXCEPTION((void)machine(path), recount::Error, [&](const recount::Error& e) {
    return is_bad_input(e) && e.problem().subject == path &&
           e.problem().cause.find("No such file") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(last_tlb_level_and_pages_are_altered) {
  const MachineDescription modulo = machine("i7-9700~stlb=1536:12"),
                           hashed = machine("i7-9700~stlb=2048:16:xor");
  BOOST_TEST(modulo.tlb->levels.back().index.empty());
  BOOST_TEST(modulo.tlb->levels.front().entries == 64);
  BOOST_TEST(hashed.tlb->levels.back().sets() == 128);
  BOOST_TEST(hashed.tlb->levels.back().index == machine("i7-9700").tlb->levels.back().index);
  BOOST_TEST((hashed.tlb->huge.back().entries == 2048 && hashed.tlb->huge.back().index.empty()));
  BOOST_TEST(hashed.instructions->tlb.back().index == hashed.tlb->levels.back().index);
  const MachineDescription huge = machine("i7-9700~huge");
  BOOST_TEST(huge.tlb->page == std::int64_t{2} << 20);
  BOOST_TEST(huge.tlb->levels.front().entries == 32);
  BOOST_TEST(machine("i7-9700~placement=any~huge").placement->page == std::int64_t{2} << 20);
  for (const char* bad : {"", "1536", "1536:", ":12", "0:12", "1536:0", "1536:1000", "1536:10", "1536:12:mod",
                          "12:12:xor", "1536:12:xor:", "99999999:1", "-1536:12", "1536x12"})
    BOOST_CHECK_THROW((void)machine(std::string("i7-9700~stlb=") + bad), recount::Error);
  BOOST_CHECK_THROW((void)machine("i5-1035g1~no-tlb~stlb=1536:12"), recount::Error);
}

BOOST_AUTO_TEST_CASE(comparison_with_counters_is_read) {
  const std::string rest = R"("levels":[{"name":"L1d","size":"32K","line":64,"ways":8}]})";
  const auto one = parse_machine(
      R"({"name":"x","microarchitecture":"y","validated":{"groups":3,"cpus":["a","b"],"l1_deviation_percent":{"simple":0.5}},)" +
          rest,
      "x.json");
  BOOST_TEST(one.microarchitecture == "y");
  BOOST_TEST((one.validated->groups == 3 && one.validated->cpus.size() == 2U &&
              one.validated->deviations.at("simple") == 0.5));
  BOOST_TEST(!parse_machine(R"({"name":"x",)" + rest, "x.json").validated);
  for (const char* bad :
       {R"({"groups":0,"cpus":[]})", R"({"groups":1})", R"({"groups":1,"cpus":[1]})",
        R"({"groups":1,"cpus":[],"x":1})", R"({"groups":1,"cpus":[],"l1_deviation_percent":{"simple":-1}})"})
    BOOST_CHECK_THROW(
        (void)parse_machine(std::string(R"({"name":"x","validated":)") + bad + "," + rest, "x.json"),
        recount::Error);
}

BOOST_AUTO_TEST_SUITE_END()
