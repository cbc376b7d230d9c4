// Counters read by register against the same counters read by read(2).
#include "loop.hpp"

#include "base/process/fd.hpp"
#include "count/perf/read_page.hpp"

#include <recount/group.hpp>
#include <recount/user_read.hpp>

#include <boost/test/unit_test.hpp>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace recount;
using namespace recount::test;

namespace {

constexpr std::uint64_t many = 1'000'000;

/// An event opened with these bits of config1 (1: a 64-bit counter, 2: readable in user space), and its page.
struct Mapped {
  process::Fd fd;
  const perf_event_mmap_page* page = nullptr;

  Mapped(const char* event, std::uint64_t config1) {
    perf_event_attr attr = encode(event, Domain::user).attr;
    attr.config1 |= config1;
    fd.reset(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd) return;
    void* at = mmap(nullptr, static_cast<std::size_t>(getpagesize()), PROT_READ, MAP_SHARED, fd.get(), 0);
    BOOST_TEST_REQUIRE((at != MAP_FAILED));
    page = static_cast<const perf_event_mmap_page*>(at);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (page != nullptr)
      munmap(const_cast<perf_event_mmap_page*>(page), static_cast<std::size_t>(getpagesize()));
  }
  [[nodiscard]] std::optional<std::uint64_t> maybe_by_register() const {
    perf::PageReading reading{};
    const bool usable = perf::read_page_by(
        *page, [](std::uint32_t index) { return perf::cpu_counter(index); }, [] { return perf::cpu_clock(); },
        reading);
    return usable ? std::optional(reading.value) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t by_register() const { return maybe_by_register().value(); }
  [[nodiscard]] std::uint64_t by_call() const {
    std::uint64_t value = 0;
    return ::read(fd.get(), &value, sizeof value) == static_cast<ssize_t>(sizeof value) ? value : 0;
  }
};

/// What one way of reading counts between two reads around the loop.
template <class Read>
[[gnu::noipa]] std::uint64_t between(std::uint64_t rounds, const Read& read) {
  const std::uint64_t before = read();
  spin(rounds);
  return read() - before;
}

void agree(const char* event, std::uint64_t config1, unsigned width, std::uint64_t per_instruction) {
  const Mapped counter(event, config1);
  BOOST_TEST_REQUIRE(static_cast<bool>(counter.fd));
  BOOST_TEST(counter.page->cap_user_rdpmc == 1U);
  BOOST_TEST(counter.page->index != 0U);
  BOOST_TEST(counter.page->pmc_width == width);
  const auto by_register = [&] { return counter.by_register(); };
  const auto by_call = [&] { return counter.by_call(); };
  between(1, by_register), between(1, by_call);
  BOOST_TEST(between(many + 1, by_register) - between(1, by_register) == 2 * many * per_instruction);
  BOOST_TEST(between(many + 1, by_call) - between(1, by_call) == 2 * many * per_instruction);
  // By turns: never back, and never further than what a reading executes itself.
  std::uint64_t last = by_register();
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t now = i % 2 == 0 ? by_call() : by_register();
    BOOST_TEST(now > last);
    BOOST_TEST(now - last < 20'000 * per_instruction); // BOOST_TEST itself is long
    last = now;
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(user_reads)

BOOST_AUTO_TEST_CASE(instructions_in_a_32_bit_counter) {
  agree("perf::INSTRUCTIONS", 2, 32, 1);
}

BOOST_AUTO_TEST_CASE(cycles_in_the_64_bit_cycle_counter) {
  agree("perf::CYCLES", 3, 64, cycles_per_instruction());
}

BOOST_AUTO_TEST_CASE(an_event_that_does_not_ask_is_not_readable) {
  const Mapped counter("perf::INSTRUCTIONS", 0);
  BOOST_TEST(!counter.maybe_by_register().has_value());
}

BOOST_AUTO_TEST_CASE(a_64_bit_counter_for_any_event_is_refused) {
  const Mapped counter("perf::INSTRUCTIONS", 3);
  const int error = errno;
  BOOST_TEST(!counter.fd);
  BOOST_TEST(error == EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(the_librarys_reads_need_no_system_call_and_count_exactly) {
  for (const char* event : {"perf::INSTRUCTIONS", "perf::CYCLES"}) {
    BOOST_TEST_CONTEXT(event) {
      const bool cycles = std::string(event) == "perf::CYCLES";
      UserRead counter(encode(event, Domain::user));
      counter.start();
      const auto read = [&] { return counter.read().value.value(); };
      between(1, read);
      const std::uint64_t one = between(1, read);
      BOOST_TEST(between(many + 1, read) - one == 2 * many * (cycles ? cycles_per_instruction() : 1));
      BOOST_TEST(counter.system_calls() == 0U);
      BOOST_TEST(counter.direct() == 6U);
      counter.stop();
      const std::uint64_t stopped = counter.read().value.value();
      spin(many);
      BOOST_TEST(counter.read().value.value() == stopped);
      BOOST_TEST(counter.system_calls() == 2U); // not on the PMU any more: the kernel tells
    }
  }
}

BOOST_AUTO_TEST_CASE(the_value_alone_is_the_same_count) {
  UserRead counter(encode("perf::INSTRUCTIONS", Domain::user));
  BOOST_TEST(!counter.value().has_value()); // not started
  counter.start();
  const auto value = [&] { return counter.value().value(); };
  between(1, value);
  const std::uint64_t one = between(1, value);
  const std::uint64_t calls = counter.system_calls();
  BOOST_TEST(between(many + 1, value) - one == 2 * many);
  BOOST_TEST(counter.system_calls() == calls);
  counter.stop();
  BOOST_TEST(counter.value().value() == counter.read().value.value());
}

BOOST_AUTO_TEST_CASE(a_value_that_covers_only_part_of_the_time_is_none) {
  Counters others(std::vector<std::string>(12, "perf::INSTRUCTIONS"), Domain::user);
  UserRead counter(encode("perf::INSTRUCTIONS", Domain::user));
  others.start();
  counter.start();
  idle(50'000); // dozens of turns
  BOOST_TEST(multiplexed(counter.read()));
  BOOST_TEST(!counter.value().has_value());
}

BOOST_AUTO_TEST_CASE(the_times_of_a_user_space_read_advance) {
  UserRead counter(encode("perf::INSTRUCTIONS", Domain::user));
  counter.start();
  const Count before = counter.read();
  idle(100'000);
  const Count after = counter.read();
  const Count between = difference(after, before);
  BOOST_TEST(between.enabled_ns == between.running_ns);
  // An instruction is 2^shift ns: time and cycles are one thing here.
  const std::uint64_t expected = 100'000 * idle_round * cycles_per_instruction();
  BOOST_TEST(between.enabled_ns > expected);
  BOOST_TEST(between.enabled_ns < expected + expected / 50); // interrupts
}

BOOST_AUTO_TEST_SUITE_END()
