// Samples: at exact periods, in rings of the layout of perf_event_open(2), and as signals.
#include "events.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(sampling)

namespace {

/// The ring of an event, and the records that are in it.
class Ring {
public:
  struct Record {
    std::uint32_t type = 0;
    std::vector<std::uint64_t> words; ///< behind the header
  };

  Ring(const EventFd& event, std::size_t pages) : bytes_((1 + pages) * page()) {
    at_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd(), 0);
    BOOST_REQUIRE(at_ != MAP_FAILED);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { ::munmap(at_, bytes_); }

  std::vector<Record> take() {
    auto& head = *static_cast<perf_event_mmap_page*>(at_);
    std::vector<Record> all;
    const std::uint64_t end = std::atomic_ref(head.data_head).load();
    while (head.data_tail < end) {
      const std::uint64_t first = word(head.data_tail), words = (first >> 48) / sizeof first;
      Record one{static_cast<std::uint32_t>(first), {}};
      for (std::uint64_t i = 1; i < words; ++i)
        one.words.push_back(word(head.data_tail + i * sizeof first));
      all.push_back(one);
      head.data_tail += words * sizeof first;
    }
    return all;
  }

private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(at_) + page() + at % (bytes_ - page()), sizeof value);
    return value;
  }

  std::size_t bytes_;
  void* at_;
};

perf_event_attr sampled(std::uint64_t config, std::uint64_t period) {
  perf_event_attr attr = raw(config);
  attr.sample_period = period;
  attr.sample_type =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
  return attr;
}
constexpr std::uint64_t branches = 0x00c4, instructions = 0x00c0;

int overflow_fd = -1;
int overflows = 0;
void count_overflow(int /*number*/, siginfo_t* info, void* /*context*/) {
  if (info->si_fd != overflow_fd) return;
  ++overflows;
  ::ioctl(info->si_fd, PERF_EVENT_IOC_REFRESH, 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(there_is_a_sample_for_every_period) {
  EventFd event(sampled(branches, 1000));
  BOOST_REQUIRE_EQUAL(event.error(), 0);
  Ring ring(event, 8);
  event.control(PERF_EVENT_IOC_ENABLE);
  execute_block("branch_taken", 1000); // 17 branches a turn and the return
  event.control(PERF_EVENT_IOC_DISABLE);
  const auto records = ring.take();
  BOOST_REQUIRE_EQUAL(records.size(), event.value() / 1000);
  BOOST_REQUIRE_EQUAL(records.size(), 17U);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& words = records[i].words; // ip, pid and tid, id, period, value
    BOOST_REQUIRE_EQUAL(records[i].type, static_cast<std::uint32_t>(PERF_RECORD_SAMPLE));
    BOOST_REQUIRE_EQUAL(words.size(), 5U);
    BOOST_TEST(words[1] >> 32 == static_cast<std::uint64_t>(::syscall(SYS_gettid)));
    BOOST_TEST(words[2] == event.id());
    BOOST_TEST(words[3] == 1000U);
    BOOST_TEST(words[4] == 1000 * (i + 1));
  }
}

BOOST_AUTO_TEST_CASE(a_sample_tells_the_values_of_its_group) {
  auto attr = sampled(branches, 1000);
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  attr.sample_type = PERF_SAMPLE_READ;
  EventFd leader(attr);
  auto member = raw(instructions);
  member.read_format = attr.read_format;
  member.disabled = 0;
  EventFd sibling(member, 0, -1, leader.fd());
  Ring ring(leader, 8);
  leader.control(PERF_EVENT_IOC_ENABLE);
  execute_block("branch_taken", 1000);
  const auto records = ring.take();
  BOOST_REQUIRE(records.size() >= 16U);
  for (const auto& one : records) {
    BOOST_REQUIRE_EQUAL(one.words.size(), 5U); // nr, value, id, value, id
    BOOST_TEST(one.words[0] == 2U);
    BOOST_TEST(one.words[2] == leader.id());
    BOOST_TEST(one.words[4] == sibling.id());
  }
  // 114 bytes of nops beside: 16 * (jc) and dec, jnz a turn
  const auto& last = records.back().words;
  BOOST_TEST(static_cast<double>(last[3]) / static_cast<double>(last[1]) == 18.0 / 17,
             boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(a_full_ring_loses_samples_and_tells_how_many) {
  auto attr = sampled(branches, 100);
  attr.read_format = PERF_FORMAT_LOST;
  attr.sample_type = PERF_SAMPLE_IP;
  EventFd event(attr);
  Ring ring(event, 1); // 4096 bytes: 256 records of 16
  event.control(PERF_EVENT_IOC_ENABLE);
  execute_block("branch_taken", 5000);
  const auto kept = ring.take().size();
  BOOST_TEST(kept == 256U);
  execute_block("branch_taken", 100);
  const auto after = ring.take();
  event.control(PERF_EVENT_IOC_DISABLE);
  BOOST_REQUIRE(!after.empty());
  BOOST_TEST(after[0].type == static_cast<std::uint32_t>(PERF_RECORD_LOST));
  BOOST_REQUIRE_EQUAL(after[0].words.size(), 2U);
  BOOST_TEST(after[0].words[0] == event.id());
  const auto words = event.words(); // value, lost
  BOOST_REQUIRE_EQUAL(words.size(), 2U);
  BOOST_TEST(after[0].words[1] == words[1]);
  BOOST_TEST(words[0] / 100 == kept + words[1] + after.size() - 1);
}

BOOST_AUTO_TEST_CASE(poll_tells_of_records) {
  EventFd event(sampled(branches, 1000));
  Ring ring(event, 1);
  pollfd one{event.fd(), POLLIN, 0};
  BOOST_TEST(::poll(&one, 1, 0) == 0);
  event.control(PERF_EVENT_IOC_ENABLE);
  execute_block("branch_taken", 1000);
  BOOST_TEST(::poll(&one, 1, 0) == 1);
  BOOST_TEST(one.revents == POLLIN);
  ring.take();
  BOOST_TEST(::poll(&one, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE(every_overflow_is_a_signal_and_a_limit_stops_the_event) {
  struct sigaction action {};
  action.sa_sigaction = count_overflow;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN + 3, &action, nullptr);
  auto attr = sampled(branches, 1000);
  attr.sample_type = PERF_SAMPLE_IP;
  EventFd event(attr);
  Ring ring(event, 8);
  overflow_fd = event.fd();
  overflows = 0;
  const f_owner_ex owner{F_OWNER_TID, static_cast<pid_t>(::syscall(SYS_gettid))};
  BOOST_REQUIRE(::fcntl(event.fd(), F_SETOWN_EX, &owner) == 0);
  BOOST_REQUIRE(::fcntl(event.fd(), F_SETSIG, SIGRTMIN + 3) == 0);
  BOOST_REQUIRE(::fcntl(event.fd(), F_SETFL, O_ASYNC | O_NONBLOCK) == 0);
  event.control(PERF_EVENT_IOC_REFRESH, 1);
  execute_block("branch_taken", 1000);
  event.control(PERF_EVENT_IOC_DISABLE);
  BOOST_TEST(overflows == 17);
  BOOST_TEST(ring.take().size() == 17U);
}

BOOST_AUTO_TEST_CASE(a_period_can_be_changed) {
  EventFd event(sampled(branches, 1000));
  Ring ring(event, 8);
  std::uint64_t period = 500;
  BOOST_TEST(event.control(PERF_EVENT_IOC_PERIOD, reinterpret_cast<unsigned long>(&period)) == 0);
  event.control(PERF_EVENT_IOC_ENABLE);
  execute_block("branch_taken", 1000);
  BOOST_TEST(ring.take().size() == 34U);
  period = 0;
  BOOST_TEST(event.control(PERF_EVENT_IOC_PERIOD, reinterpret_cast<unsigned long>(&period)) == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()
