#include "perf/removed.hpp"

#include "perf/try_open.hpp"
#include "process/child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace recount::perf {
namespace {
using std::chrono::nanoseconds;

#if defined(__SANITIZE_ADDRESS__) // execve(2) takes down a process of 200 MiB, in 10 ms or more
constexpr double seen_of_removed = 0.012;
constexpr nanoseconds noticeable{29'000'000};
#else
constexpr double seen_of_removed = 0.05; ///< at most: the rest of execve(2)
constexpr nanoseconds noticeable{10'000'000};
#endif
constexpr double seen_of_all = 0.9; ///< at least: all but the beginning of execve(2) and the exit

double times(double part, nanoseconds of) {
  return part * static_cast<double>(of.count());
}
std::string milliseconds(nanoseconds time) {
  return fmt::format("{:.3g} ms", times(1e-6, time));
}
/// recount emulate --exact does not count the start of Valgrind, which takes processor time, and loses no
/// program.
bool emulated() {
  const char* const options = std::getenv("RECOUNT_PMU_OPTIONS");
  return options != nullptr && std::string_view(options).find("exact 1") != std::string_view::npos;
}
} // namespace

bool removed(nanoseconds enabled, nanoseconds used) {
  return !emulated() && times(1, enabled) < times(seen_of_removed, used);
}

Reason removed_reason(nanoseconds enabled, nanoseconds used) {
  return fmt::format(
      "Linux removed the counters after {} of {} of processor time, because it executed a program "
      "that is set-user-ID or set-group-ID, has capabilities, or may not be read",
      milliseconds(enabled), milliseconds(used));
}

bool removed_at_exec(const std::string& program) {
  const std::string file = process::find_program(program).value_or("");
  struct stat of {};
  if (::stat(file.c_str(), &of) != 0) return false;
  if (::access(file.c_str(), R_OK) != 0) return true;
  struct statvfs mounted {};
  const bool ignored = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
                       (::statvfs(file.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOSUID) != 0);
  if (ignored) return false;
  return ((of.st_mode & S_ISUID) != 0 && of.st_uid != ::getuid()) ||
         ((of.st_mode & S_ISGID) != 0 && (of.st_mode & S_IXGRP) != 0 && of.st_gid != ::getgid());
}

std::string removed_in_part(nanoseconds enabled, nanoseconds used) {
  if (emulated() || times(1, enabled) >= times(seen_of_all, used) || used - enabled < noticeable) return {};
  return fmt::format(
      "incomplete: counted in {} of {} of processor time; Linux does not count programs that are "
      "set-user-ID or set-group-ID, have capabilities, or may not be read",
      milliseconds(enabled), milliseconds(used));
}

namespace {
std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
} // namespace

// perf_poll() in kernel/events/core.c: an event without a buffer is always hung up, one with a buffer once
// its task and all that inherited it have ended. An inherited event has a buffer only when it is bound to a
// CPU; its task's end counts wherever it runs.
Descendants::Descendants(pid_t pid) {
  perf_event_attr attr = dummy_attr();
  attr.inherit = 1;
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
