// Descriptions: what is read, and what each mistake is told.
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
     {"levels[0].index: needs as many", "4"}},
    {one_level(R"("size": 512, "line": 64, "ways": 1, "index": ["0x3", "0x5", "0x6"])"),
     {"levels[0].index: a mask is the XOR of others"}},
    {one_level(R"("size": 128, "line": 64, "ways": 1, "index": ["0x1000000000000000"])"), {"too high"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}],
        "tlb": {"levels": [{"entries": 12, "ways": 4, "index": "xor"}]}})",
     {"tlb.levels[0].index", "not 3"}},
    {one_level(R"("size": 1000, "line": 64, "ways": 2)"), {"levels[0].size: 1000 is not a multiple"}},
    {one_level(R"("size": 4160, "line": 64, "ways": 65, "policy": "plru")"),
     {"levels[0].policy: is for at most 64 ways"}},
    {one_level(R"("size": 384, "line": 64, "ways": 6, "policy": "lru-plru4")"),
     {"levels[0].policy: lru-plru4 needs"}},
    {one_level(R"("size": 256, "line": 64, "ways": 4, "policy": "srrip")"), {"levels[0].policy: QLRU"}},
    {one_level(R"("size": 256, "line": 64, "ways": 4, "policy": "QLRU_H00_M1_R2_U2")"),
     {"levels[0].policy: is no variant"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}],
        "tlb": {"levels": [{"entries": 12, "ways": 4}], "walk": [{"entries": 3, "ways": 2}]}})",
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
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}],
        "presets": {"PAPI_L2_DCM": {"MODEL_L1_EVICTIONS": 1}}})",
     {"presets.PAPI_L2_DCM", "no such preset"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}],
        "presets": {"PAPI_L1_DCM": {"MODEL_L1_EVICTION": 1}}})",
     {"presets.PAPI_L1_DCM.MODEL_L1_EVICTION", "MODEL_L1_EVICTIONS"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}],
        "presets": {"PAPI_L1_DCM": {"MODEL_L1_EVICTIONS": 0}}})",
     {"presets.PAPI_L1_DCM.MODEL_L1_EVICTIONS: must be at least 1"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}], "preset": {}})",
     {"preset: unknown field"}},
    {two_levels(R"(, "write": "through")", R"(, "inclusion": "exclusive")"), {"levels[1].inclusion", "L1"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2},
        {"name": "L2", "size": 128, "line": 32, "ways": 2}]})",
     {"levels[1].line: is shorter"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}],
        "tlb": {"levels": [{"entries": 10, "ways": 4}]}})",
     {"tlb.levels[0].ways: 10 entries"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}], "tlb": {"page": 3000,
        "levels": [{"entries": 4, "ways": 4}]}})",
     {"tlb.page: must be a power of two"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}], "tlb": {
        "levels": [{"entries": 4, "ways": 4}], "huge": {"page": "3M", "levels": [{"entries": 4, "ways": 4}]}}})",
     {"tlb.huge.page: must be a power of two"}},
    {R"({"name": "m", "levels": [{"name": "L1", "size": 128, "line": 64, "ways": 2}], "tlb": {
        "levels": [{"entries": 4, "ways": 4}], "huge": {"levels": [{"entries": 4, "ways": 3}]}}})",
     {"tlb.huge.levels[0].ways: 4 entries"}},
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
  const MachineDescription m = machine("i5-1035g1");
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

BOOST_AUTO_TEST_CASE(every_shipped_machine_can_be_simulated_and_says_where_it_comes_from) {
  BOOST_TEST(machine_names().size() >= 6u);
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

BOOST_AUTO_TEST_SUITE_END()
