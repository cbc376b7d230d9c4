#include "count/perf/try_open.hpp"

#include "base/host/event_class.hpp"
#include "base/process/child.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace recount::perf {
namespace {

/// Whether all bytes from `size` on are 0.
bool zero_beyond(const perf_event_attr& attr, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(&attr, 1));
  if (size >= bytes.size()) return true;
  const auto tail = bytes.subspan(size);
  return std::all_of(tail.begin(), tail.end(), [](std::byte byte) { return byte == std::byte{}; });
}

} // namespace

int open_call(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  return static_cast<int>(syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags));
}

perf_event_attr dummy_attr() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = attr.exclude_hv = 1;
  return attr;
}

Attempt open_sized(perf_event_attr attr, const Target& target, OpenCall call) {
  Attempt attempt;
  if (call == open_call && !host::dead_reason(attr).empty()) {
    attempt.error = dead_class;
    return attempt;
  }
  attr.size = std::min<std::uint32_t>(attr.size, sizeof attr); // a program's headers may be newer
  // E2BIG and EMFILE cause at most one retry each.
  for (int attempts = 0; attempts < 3; ++attempts) {
    attempt.attr = attr;
    attempt.fd.reset(target.cgroup < 0
                         ? call(&attempt.attr, target.pid, target.cpu, target.group_fd, PERF_FLAG_FD_CLOEXEC)
                         : call(&attempt.attr, target.cgroup, target.cpu, target.group_fd,
                                PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP));
    attempt.error = attempt.fd ? 0 : errno;
    if (attempt.error == EMFILE && process::raise_open_files()) continue;
    if (attempt.error != E2BIG) break;
    const auto known = std::min<std::size_t>(attempt.attr.size, sizeof attr);
    if (known == attr.size || !zero_beyond(attr, known)) break;
    attr.size = static_cast<std::uint32_t>(known);
  }
  return attempt;
}

ssize_t read_again(int fd, void* to, std::size_t bytes) {
  using namespace std::chrono;
  const auto end = steady_clock::now() + seconds(1);
  for (;;) {
    const ssize_t got = ::read(fd, to, bytes);
    if (got >= 0 || errno != ECHILD || steady_clock::now() > end) return got;
    std::this_thread::sleep_for(microseconds(20));
  }
}

} // namespace recount::perf
