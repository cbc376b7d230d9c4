// The arithmetic of user-space reads over a page and registers made of memory.
#include "count/perf/open_group.hpp"
#include "count/perf/read_page.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <vector>

using namespace recount;
using perf::PageReading;

namespace {

/// A CPU whose registers a test sets, and which can change the page in the middle of a read.
struct Cpu {
  perf_event_mmap_page page{};
  std::uint64_t counter = 0, clock = 0;
  std::uint32_t requested = 99;
  unsigned reads = 0;
  void (*interrupt)(Cpu&) = nullptr;

  Cpu() {
    page.cap_user_rdpmc = 1;
    page.index = 3;
    page.pmc_width = 48;
  }
  [[nodiscard]] std::optional<PageReading> read() {
    PageReading reading{};
    const auto take_counter = [this](std::uint32_t index) {
      requested = index;
      ++reads;
      const std::uint64_t value = counter;
      if (interrupt != nullptr) interrupt(*this);
      return value;
    };
    const bool usable = perf::read_page_by(
        page, take_counter, [this] { return clock; }, reading);
    return usable ? std::optional(reading) : std::nullopt;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(user_page, Cpu)

BOOST_AUTO_TEST_CASE(offset_and_register_are_added) {
  page.offset = 1000;
  counter = 234;
  page.time_enabled = page.time_running = 77;
  const auto reading = read();
  BOOST_TEST_REQUIRE(reading.has_value());
  BOOST_TEST(reading->value == 1234U);
  BOOST_TEST(reading->enabled_ns == 77U);
  BOOST_TEST(requested == 2U); // rdpmc takes index - 1
}

BOOST_AUTO_TEST_CASE(the_register_is_signed_in_its_width) {
  // The kernel starts a 48-bit counter at -2^47 and sets offset to +2^47.
  page.offset = std::int64_t{1} << 47;
  counter = (std::uint64_t{1} << 47) + 5; // as an unsigned 48-bit number
  BOOST_TEST(read()->value == 5U);
  counter = (std::uint64_t{1} << 48) - 1; // -1
  BOOST_TEST(read()->value == (std::uint64_t{1} << 47) - 1);
  counter = 0; // wrapped at 48 bits: one more
  BOOST_TEST(read()->value == std::uint64_t{1} << 47);
  counter = (std::uint64_t{1} << 48) | 7; // bits beyond the width are noise
  BOOST_TEST(read()->value == (std::uint64_t{1} << 47) + 7);
}

BOOST_AUTO_TEST_CASE(fixed_counters_count_and_packed_metrics_do_not) {
  page.offset = 7;
  counter = 5;
  page.index = (1U << 30) + 3 + 1; // slots: fixed counter 3
  BOOST_TEST(read()->value == 12U);
  BOOST_TEST(requested == (1U << 30) + 3);
  page.index = (1U << 29) + 1; // PERF_METRICS
  requested = 99;
  BOOST_TEST(!read().has_value());
  BOOST_TEST(requested == 99U);
}

BOOST_AUTO_TEST_CASE(whole_words_and_32_bits) {
  page.pmc_width = 64;
  counter = ~std::uint64_t{0};
  page.offset = 10;
  BOOST_TEST(read()->value == 9U);
  page.pmc_width = 32;
  counter = 0xffffffffU;
  BOOST_TEST(read()->value == 9U);
  counter = 0x7fffffffU;
  BOOST_TEST(read()->value == 0x80000009U);
}

BOOST_AUTO_TEST_CASE(the_register_is_left_alone_where_it_may_not_be_read) {
  page.offset = 1000;
  page.index = 0; // not on the PMU
  BOOST_TEST(!read().has_value());
  page.index = 3;
  page.cap_user_rdpmc = 0;
  BOOST_TEST(!read().has_value());
  BOOST_TEST(reads == 0U);
}

BOOST_AUTO_TEST_CASE(a_lock_that_changes_midway_starts_over) {
  page.offset = 1000;
  page.lock = 2;
  counter = 5;
  interrupt = [](Cpu& cpu) { // the kernel moves the event to another register
    if (cpu.reads > 1) return;
    cpu.page.lock += 2;
    cpu.page.offset = 2000;
    cpu.page.index = 7;
    cpu.page.time_enabled = 400;
    cpu.counter = 1;
  };
  const auto reading = read();
  BOOST_TEST_REQUIRE(reading.has_value());
  BOOST_TEST(reads == 2U);
  BOOST_TEST(reading->value == 2001U); // neither 1005 nor a mixture
  BOOST_TEST(reading->enabled_ns == 400U);
  BOOST_TEST(requested == 6U);
}

BOOST_AUTO_TEST_CASE(an_event_taken_off_midway_falls_back) {
  page.lock = 2;
  interrupt = [](Cpu& cpu) {
    cpu.page.lock += 2;
    cpu.page.index = 0;
  };
  BOOST_TEST(!read().has_value());
  BOOST_TEST(reads == 1U);
}

BOOST_AUTO_TEST_CASE(times_advance_with_the_clock) {
  page.cap_user_time = 1;
  page.time_enabled = 10'000;
  page.time_running = 4'000;
  page.time_shift = 10;
  page.time_mult = 512;                                  // half a nanosecond a cycle
  page.time_offset = static_cast<std::uint64_t>(-1'000); // subtracts what had passed before
  clock = 4'096;
  const auto reading = read();
  BOOST_TEST(reading->enabled_ns == 10'000U + 1'048U);
  BOOST_TEST(reading->running_ns == 4'000U + 1'048U);
}

BOOST_AUTO_TEST_CASE(the_remainder_counts_too) {
  page.cap_user_time = 1;
  page.time_shift = 4;
  page.time_mult = 3;
  clock = (5U << 4) | 9; // 5 * 3 + (9 * 3 >> 4)
  BOOST_TEST(read()->enabled_ns == 16U);
}

BOOST_AUTO_TEST_CASE(a_short_clock_is_unwrapped) {
  page.cap_user_time = page.cap_user_time_short = 1;
  page.time_shift = 0;
  page.time_mult = 1;
  page.time_mask = 0xff;
  page.time_cycles = 0x1fe; // 8 bits of the clock wrapped since: 0x02 means 0x202
  clock = 0x02;
  BOOST_TEST(read()->enabled_ns == 0x202U);
}

BOOST_AUTO_TEST_CASE(without_a_clock_the_times_are_those_of_the_last_update) {
  page.time_enabled = 10;
  page.time_running = 5;
  clock = 1'000'000;
  BOOST_TEST(read()->enabled_ns == 10U);
  BOOST_TEST(read()->running_ns == 5U);
}

// As class Group reads: the words of read(2), from the pages.
BOOST_AUTO_TEST_CASE(a_group_is_read_from_its_pages) {
  std::array<perf_event_mmap_page, 2> pages{};
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i].cap_user_rdpmc = pages[i].cap_user_time = 1;
    pages[i].pmc_width = 48;
    pages[i].index = static_cast<std::uint32_t>(i) + 1;
    pages[i].offset = 1000 * static_cast<std::int64_t>(i + 1);
    pages[i].time_enabled = 70 + i;
    pages[i].time_running = 60 + i;
    pages[i].time_mult = 1;
  }
  const perf::Layout layout;
  std::vector<std::uint64_t> words(layout.words(2), 9);
  const auto read_group = [&] {
    return perf::read_group_by(
        2, [&](std::size_t i) -> const perf_event_mmap_page& { return pages[i]; }, layout, words,
        [](std::uint32_t index) { return std::uint64_t{5} + index; }, [] { return std::uint64_t{4}; });
  };
  BOOST_TEST(read_group());
  BOOST_TEST(words[layout.value(0)] == 1005U);
  BOOST_TEST(words[layout.value(1)] == 2006U);
  BOOST_TEST(words[layout.enabled()] == 74U); // of the first event, advanced by the clock
  BOOST_TEST(words[layout.running()] == 64U);
  BOOST_TEST(words[0] == 9U); // what identifies events is left as it was
  BOOST_TEST(words[layout.value(0) + 1] == 9U);
  pages[1].index = 0; // not on the PMU
  BOOST_TEST(!read_group());
  pages[1].index = 2;
  pages[0].cap_user_time = 0;
  BOOST_TEST(!read_group());
}

BOOST_AUTO_TEST_SUITE_END()
