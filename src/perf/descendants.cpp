#include "perf/descendants.hpp"

#include "perf/try_open.hpp"

#include <algorithm>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::perf {
namespace {
std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
} // namespace

// perf_poll() in kernel/events/core.c: an event without a buffer is always hung up, one with a buffer once
// its task and all that inherited it have ended. An inherited event has a buffer only when it is bound to a
// CPU; its task's end counts wherever it runs.
Descendants::Descendants(pid_t pid) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.inherit = 1;
  attr.exclude_kernel = attr.exclude_hv = 1;
  fd_ = open_sized(attr, {pid, std::max(::sched_getcpu(), 0), -1}).fd;
  if (!fd_) return;
  page_ = ::mmap(nullptr, page_size(), PROT_READ, MAP_SHARED, fd_.get(), 0);
  if (page_ == MAP_FAILED) page_ = nullptr;
}

Descendants::~Descendants() {
  if (page_ != nullptr) ::munmap(page_, page_size());
}

bool Descendants::any() const {
  pollfd now{fd_.get(), POLLIN, 0};
  return page_ != nullptr && ::poll(&now, 1, 0) >= 0 && (now.revents & POLLHUP) == 0;
}

} // namespace recount::perf
