// Overflows of the cycle counter: exactly as many samples as the count holds periods.
#include "loop.hpp"

#include "process/fd.hpp"

#include <recount/event.hpp>

#include <boost/test/unit_test.hpp>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace recount;
using namespace recount::test;

namespace {

constexpr std::size_t pages = 64; // of the ring: more than any test here fills

/// Counts the samples of a ring that has never been full.
struct Sampled {
  std::uint64_t count = 0, samples = 0, others = 0;
};

Sampled sampled(std::uint64_t period, std::uint64_t rounds) {
  perf_event_attr attr = encode("perf::CYCLES", Domain::user).attr;
  attr.sample_period = period;
  attr.sample_type = PERF_SAMPLE_IP;
  attr.disabled = 1;
  const process::Fd fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  BOOST_TEST_REQUIRE(static_cast<bool>(fd));
  const auto page = static_cast<std::size_t>(getpagesize());
  void* at = mmap(nullptr, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  BOOST_TEST_REQUIRE((at != MAP_FAILED));
  ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0);
  spin(rounds);
  ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);

  Sampled got;
  BOOST_TEST(::read(fd.get(), &got.count, sizeof got.count) == static_cast<ssize_t>(sizeof got.count));
  const auto* head = static_cast<const perf_event_mmap_page*>(at);
  const char* data = static_cast<const char*>(at) + page;
  BOOST_TEST(head->data_head < pages * page);
  for (std::uint64_t offset = 0; offset < head->data_head;) {
    const auto* record = reinterpret_cast<const perf_event_header*>(data + offset);
    ++(record->type == PERF_RECORD_SAMPLE ? got.samples : got.others);
    offset += record->size;
  }
  munmap(at, (pages + 1) * page);
  return got;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sampling)

BOOST_AUTO_TEST_CASE(the_count_holds_exactly_as_many_periods_as_there_are_samples) {
  // Primes, so that no period is in step with the loop.
  for (const std::uint64_t period : {10'007U, 100'003U, 1'000'003U}) {
    const Sampled got = sampled(period, 5'000'000);
    BOOST_TEST_MESSAGE("period " << period << ": " << got.samples << " samples, count " << got.count);
    BOOST_TEST(got.count >= 10'000'000 * cycles_per_instruction());
    BOOST_TEST(got.samples == got.count / period);
    BOOST_TEST(got.others == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
