// What this machine counts, found by counting something known: that an event opens proves nothing. Each
// function returns why tests cannot rely on it, and is empty where they can; each is asked once per process.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <linux/perf_event.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::test {

/// A suite or a case with this decorator is skipped, with the reason, where the machine lacks something:
/// BOOST_AUTO_TEST_SUITE(overflow, *test::needs(test::no_software_events)).
inline auto needs(const std::string& (*why_not)()) {
  return boost::unit_test::precondition([why_not](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(why_not().empty());
    result.message() << why_not();
    return result;
  });
}

/// What the event counts over work() of this thread; -1 with errno.
template <class Work>
std::int64_t counted(perf_event_attr attr, bool kernel_too, const Work& work) {
  attr.size = sizeof attr;
  attr.disabled = 1;
  attr.exclude_kernel = attr.exclude_hv = !kernel_too;
  const int fd = static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
  if (fd < 0) return -1;
  ::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  work();
  ::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  std::int64_t value = 0;
  if (::read(fd, &value, sizeof value) != sizeof value) value = 0;
  ::close(fd);
  return value;
}

/// Touches fresh pages: a page fault each.
__attribute__((noinline, no_sanitize("address", "undefined"))) inline void fault(std::size_t pages) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  ::madvise(at, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i)
    static_cast<volatile char*>(at)[i * page] = 1;
  ::munmap(at, pages * page);
}

namespace needed {
inline std::string verdict(std::int64_t count, std::int64_t least, const std::string& what) {
  if (count < 0) return what + " cannot be opened: " + std::strerror(errno);
  return count >= least ? std::string() : what + " open and count " + std::to_string(count) + " here";
}
inline perf_event_attr event(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr{};
  attr.type = type;
  attr.config = config;
  return attr;
}
} // namespace needed

inline const std::string& no_software_events() {
  static const std::string reason = needed::verdict(
      counted(needed::event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS), false, [] { fault(64); }), 64,
      "software events");
  return reason;
}

/// Of this thread, in kernel mode as well: perf_event_paranoid.
inline const std::string& no_kernel_counts() {
  static const std::string reason =
      needed::verdict(counted(needed::event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES), true,
                              [] { ::usleep(1000); }),
                      1, "context switches");
  return reason;
}

inline const std::string& no_breakpoints() {
  static const std::string reason = [] {
    alignas(8) static volatile std::uint64_t watched = 0;
    perf_event_attr attr = needed::event(PERF_TYPE_BREAKPOINT, 0);
    attr.bp_type = 2; // HW_BREAKPOINT_W
    attr.bp_addr = reinterpret_cast<std::uintptr_t>(&watched);
    attr.bp_len = 8;
    const auto write = [] {
      for (std::uint64_t i = 0; i < 100; ++i)
        watched = i;
    };
    return needed::verdict(counted(attr, false, write), 100, "hardware breakpoints");
  }();
  return reason;
}

} // namespace recount::test
