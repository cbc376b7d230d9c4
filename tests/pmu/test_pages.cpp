// Reads in user space: the page of an event, and rdpmc.
#include "events.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <sys/mman.h>
#include <unistd.h>

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(pages)

namespace {

/// The first page of an event's mapping.
class Page {
public:
  explicit Page(const EventFd& event) : at_(::mmap(nullptr, size(), PROT_READ, MAP_SHARED, event.fd(), 0)) {}
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() { ::munmap(at_, size()); }
  const perf_event_mmap_page& operator*() const { return *static_cast<perf_event_mmap_page*>(at_); }
  const perf_event_mmap_page* operator->() const { return &**this; }

private:
  static std::size_t size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  void* at_;
};

std::uint64_t rdpmc(std::uint32_t counter) {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
  return low | std::uint64_t{high} << 32;
}

/// The reader of perf_event_open(2).
std::uint64_t read_in_user_space(const perf_event_mmap_page& page) {
  for (;;) {
    const std::uint32_t sequence = std::atomic_ref(const_cast<std::uint32_t&>(page.lock)).load();
    const std::uint32_t index = page.index;
    auto count = static_cast<std::uint64_t>(page.offset);
    if (page.cap_user_rdpmc && index != 0) {
      const int shift = 64 - page.pmc_width;
      count += static_cast<std::uint64_t>(static_cast<std::int64_t>(rdpmc(index - 1) << shift) >> shift);
    }
    if (std::atomic_ref(const_cast<std::uint32_t&>(page.lock)).load() == sequence) return count;
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(user_space_reads_what_a_call_reads) {
  for (const std::uint64_t code : {0x00c0U, 0x00c4U}) { // in a fixed counter, in a general one
    EventFd event(raw(code));
    const Page page(event);
    BOOST_TEST(page->cap_user_rdpmc);
    BOOST_TEST(page->pmc_width == 48);
    BOOST_TEST(page->index == 0U);
    event.control(PERF_EVENT_IOC_ENABLE);
    BOOST_TEST(page->index != 0U);
    const auto before = read_in_user_space(*page);
    add_turns(1000);
    const auto after = read_in_user_space(*page);
    BOOST_TEST(after - before ==
               (code == 0x00c0U ? 18003U : 1001U)); // not an instruction beside the block's own
    event.control(PERF_EVENT_IOC_DISABLE);
    BOOST_TEST(page->index == 0U);
    BOOST_TEST(read_in_user_space(*page) == event.value());
  }
}

BOOST_AUTO_TEST_CASE(an_event_of_linux_has_the_page_of_linux) {
  EventFd event(software());
  const Page page(event);
  event.control(PERF_EVENT_IOC_ENABLE);
  BOOST_TEST(page->index == 0U);
  BOOST_TEST(!page->cap_user_rdpmc);
}

BOOST_AUTO_TEST_CASE(an_event_without_a_counter_has_no_index) {
  std::vector<EventFd> pinned;
  for (const std::uint64_t code : {0x00c4U, 0x00c5U, 0x0151U, 0xe124U}) {
    auto attr = raw(code);
    attr.pinned = 1;
    pinned.emplace_back(attr).control(PERF_EVENT_IOC_ENABLE);
  }
  EventFd event(raw(0xe224));
  const Page page(event);
  event.control(PERF_EVENT_IOC_ENABLE);
  add_turns(1000);
  BOOST_TEST(page->index == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
