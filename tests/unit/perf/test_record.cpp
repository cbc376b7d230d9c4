#include "count/perf/record.hpp"
#include "records.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

using namespace recount;
using namespace recount::perf;
using test::join;
using test::pair;
using test::record;
using test::Words;

BOOST_AUTO_TEST_SUITE(records)

namespace {

constexpr std::uint64_t plain = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
const Words front{7, 0x401000, pair(10, 11), 500, 0xbeef, pair(3, 0), 100};
const Words trailer{pair(10, 11), 500, pair(3, 0), 7}; // tid, time, cpu, identifier

std::vector<std::uint64_t> list(std::span<const std::uint64_t> words) {
  return {words.begin(), words.end()};
}

template <class Kind>
Kind taken(const Words& words, const RecordFormat& format, Decoded& into) {
  BOOST_TEST_REQUIRE((decode(words, format, into) == Understood::yes));
  BOOST_TEST_REQUIRE(std::holds_alternative<Kind>(into.record));
  return std::get<Kind>(into.record);
}

/// A sample with everything that decode() knows.
struct Full {
  RecordFormat format{known_fields,
                      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                          PERF_FORMAT_ID | PERF_FORMAT_LOST,
                      0b101};
  Words words = record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP,
                       join({{7, 0x401000, pair(10, 11), 500, 0xbeef, 7, 8, pair(3, 0), 100},
                             {2, 900, 800, 41, 71, 0, 42, 72, 0},
                             {3, PERF_CONTEXT_USER, 0x401000, 0x402000},
                             {pair(6, 0xabcd), 0xef},                           // raw: 6 bytes and the size
                             {2, 0x401010, 0x402010, 0, 0x401020, 0x402020, 0}, // branches
                             {PERF_SAMPLE_REGS_ABI_64, 1, 2},
                             {24, 61, 62, 63, 16}}));
};

} // namespace

BOOST_AUTO_TEST_CASE(a_plain_sample) {
  Decoded into;
  const auto words = record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, front);
  const auto s = taken<Sample>(words, {plain}, into);
  BOOST_TEST(into.id == 7U);
  BOOST_TEST(s.ip == 0x401000U);
  BOOST_TEST(s.pid == 10U);
  BOOST_TEST(s.tid == 11U);
  BOOST_TEST(s.time == 500U);
  BOOST_TEST(s.address == 0xbeefU);
  BOOST_TEST(s.cpu == 3U);
  BOOST_TEST(s.period == 100U);
  BOOST_TEST((s.mode == Mode::kernel));
  BOOST_TEST(!s.exact);
  BOOST_TEST(time_of(words, plain) == 500U);
  BOOST_TEST(id_of(words) == 7U);
}

BOOST_AUTO_TEST_CASE(a_sample_with_everything) {
  const Full full;
  Decoded into;
  const auto s = taken<Sample>(full.words, full.format, into);
  BOOST_TEST((list(s.chain) == Words{PERF_CONTEXT_USER, 0x401000, 0x402000}));
  BOOST_TEST((list(s.user_registers) == Words{1, 2}));
  BOOST_TEST(s.register_abi == std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
  BOOST_TEST((list(s.user_stack) == Words{61, 62})); // 16 of 24 bytes are valid
  BOOST_TEST((list(s.branches) == Words{0x401010, 0x402010, 0, 0x401020, 0x402020, 0}));
  BOOST_TEST((list(into.group) == Words{2, 900, 800, 41, 71, 0, 42, 72, 0}));
  BOOST_TEST((s.mode == Mode::user));
  BOOST_TEST(s.exact);
}

BOOST_AUTO_TEST_CASE(registers_of_a_thread_without_user_mode) {
  Decoded into;
  const RecordFormat format{plain | PERF_SAMPLE_REGS_USER, 0, 0b111};
  const auto s =
      taken<Sample>(record(PERF_RECORD_SAMPLE, 0, join({front, {PERF_SAMPLE_REGS_ABI_NONE}})), format, into);
  BOOST_TEST(s.user_registers.empty());
}

BOOST_AUTO_TEST_CASE(what_was_mapped) {
  Decoded into;
  const Words where{pair(10, 11), 0x7000, 0x1000, 0x200};
  const auto words =
      record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
             join({where, {pair(8, 1), 131, 5, pair(5, 2)}, test::text("/usr/lib/libx.so"), trailer}));
  const auto m = taken<Mapping>(words, {plain}, into);
  BOOST_TEST(m.start == 0x7000U);
  BOOST_TEST(m.length == 0x1000U);
  BOOST_TEST(m.offset == 0x200U);
  BOOST_TEST(m.inode == 131U);
  BOOST_TEST(m.device == 0x801U);
  BOOST_TEST(m.protection == 5U);
  BOOST_TEST(m.file == "/usr/lib/libx.so");
  BOOST_TEST(m.time == 500U);
  BOOST_TEST(time_of(words, plain) == 500U);
  BOOST_TEST(id_of(words) == 7U);
  BOOST_TEST(m.build_id.empty());
}

BOOST_AUTO_TEST_CASE(a_build_id_in_place_of_the_inode) {
  Decoded into;
  Words id(3, 0xabababababababab);
  auto* bytes = reinterpret_cast<unsigned char*>(id.data());
  for (const unsigned length : {20U, 16U, 255U}) {
    bytes[0] = static_cast<unsigned char>(length);
    const auto words = record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID,
                              join({{1, 2, 3, 4}, id, {pair(5, 2)}, test::text("x"), trailer}));
    const auto m = taken<Mapping>(words, {plain}, into);
    BOOST_TEST(m.build_id.size() == std::min(length, 20U));
    BOOST_TEST(m.build_id[0] == 0xabU);
    BOOST_TEST(m.inode == 0U);
  }
}

BOOST_AUTO_TEST_CASE(names_forks_and_ends) {
  Decoded into; // holds views: the words must live as long
  const Words named = record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
                             join({{pair(10, 11)}, test::text("cat"), trailer}));
  const auto name = taken<Name>(named, {plain}, into);
  BOOST_TEST(name.name == "cat");
  BOOST_TEST(name.exec);
  BOOST_TEST(name.tid == 11U);
  const Words ids = join({{pair(20, 10), pair(21, 11), 499}, trailer});
  const Words forked = record(PERF_RECORD_FORK, 0, ids), ended = record(PERF_RECORD_EXIT, 0, ids);
  const auto fork = taken<Fork>(forked, {plain}, into);
  BOOST_TEST(fork.pid == 20U);
  BOOST_TEST(fork.parent_pid == 10U);
  BOOST_TEST(fork.tid == 21U);
  BOOST_TEST(fork.parent_tid == 11U);
  const auto end = taken<End>(ended, {plain}, into);
  BOOST_TEST(end.pid == 20U);
  BOOST_TEST(end.tid == 21U);
}

BOOST_AUTO_TEST_CASE(losses_and_throttling) {
  Decoded into;
  BOOST_TEST(taken<Loss>(record(PERF_RECORD_LOST, 0, join({{7, 12}, trailer})), {plain}, into).records ==
             12U);
  // What the PMU's driver dropped: {lost}, without an id of its own (perf_event_open(2)).
  BOOST_TEST(taken<Loss>(record(PERF_RECORD_LOST_SAMPLES, 0, join({{9}, trailer})), {plain}, into).records ==
             9U);
  BOOST_TEST(into.id == 7U);
  const Words body = join({{500, 7, 7}, trailer});
  BOOST_TEST(taken<Throttle>(record(PERF_RECORD_THROTTLE, 0, body), {plain}, into).stopped);
  BOOST_TEST(into.id == 7U);
  BOOST_TEST(!taken<Throttle>(record(PERF_RECORD_UNTHROTTLE, 0, body), {plain}, into).stopped);
}

BOOST_AUTO_TEST_CASE(other_kinds_are_told_from_damage) {
  Decoded into;
  BOOST_TEST(
      (decode(record(PERF_RECORD_AUX, 0, join({{1, 2, 3}, trailer})), {plain}, into) == Understood::other));
  BOOST_TEST((decode(record(9999, 0, trailer), {plain}, into) == Understood::other));
}

BOOST_AUTO_TEST_CASE(no_length_is_believed) {
  Decoded into;
  BOOST_TEST((decode({}, {plain}, into) == Understood::no));
  auto words = record(PERF_RECORD_SAMPLE, 0, front);
  words.push_back(0); // longer than its header says
  BOOST_TEST((decode(words, {plain}, into) == Understood::no));
  const RecordFormat chain{plain | PERF_SAMPLE_CALLCHAIN};
  for (const std::uint64_t frames : {std::uint64_t{2}, std::uint64_t{1} << 61, ~std::uint64_t{0}})
    BOOST_TEST(
        (decode(record(PERF_RECORD_SAMPLE, 0, join({front, {frames, 1}})), chain, into) == Understood::no));
  for (const std::uint64_t events : {std::uint64_t{9}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    Full full;
    full.words[10] = events;
    BOOST_TEST((decode(full.words, full.format, into) == Understood::no));
  }
}

BOOST_AUTO_TEST_CASE(no_truncation_is_believed) {
  const Full full;
  Decoded into;
  for (std::size_t size = 1; size < full.words.size(); ++size) {
    const Words cut =
        record(PERF_RECORD_SAMPLE, 0, {full.words.begin() + 1, full.words.begin() + static_cast<long>(size)});
    BOOST_TEST((decode(cut, full.format, into) == Understood::no));
  }
}

BOOST_AUTO_TEST_CASE(fields_that_are_not_known_are_not_guessed) {
  Decoded into;
  BOOST_TEST((decode(record(PERF_RECORD_SAMPLE, 0, front), {plain | 1ULL << 40U}, into) == Understood::no));
}

BOOST_AUTO_TEST_CASE(a_text_without_its_end) {
  Decoded into;
  const auto words = record(PERF_RECORD_COMM, 0, join({{pair(1, 1)}, {0x6161616161616161}, trailer}));
  BOOST_TEST(taken<Name>(words, {plain}, into).name == "aaaaaaaa");
}

BOOST_AUTO_TEST_CASE(lines_of_proc_maps) {
  const auto code = parse_maps_line("7f1000-7f3000 r-xp 00001000 08:01 131 /usr/lib/a b.so");
  BOOST_TEST_REQUIRE(code.has_value());
  BOOST_TEST(code->start == 0x7f1000U);
  BOOST_TEST(code->length == 0x2000U);
  BOOST_TEST(code->offset == 0x1000U);
  BOOST_TEST(code->protection == 5U);
  BOOST_TEST(code->device == 0x801U);
  BOOST_TEST(code->inode == 131U);
  BOOST_TEST(code->file == "/usr/lib/a b.so");
  BOOST_TEST(parse_maps_line("7f1000-7f3000 rw-p 00000000 00:00 0 ")->file == "//anon");
  BOOST_TEST(parse_maps_line("7f1000-7f3000 rw-p 00000000 00:00 0")->file == "//anon");
  for (const char* bad : {"", "x", "7f-", "7f1000-7f0000 r-xp 0 0:0 0 ", "1-2", "1-2 rwxp 0 0:0", "1-2 r"})
    BOOST_TEST(!parse_maps_line(bad).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
