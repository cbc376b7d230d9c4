#include "emulate/preload/unbacked.hpp"

#include "emulate/preload/read_event.hpp"
#include "emulate/real.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/fcntl.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::emulate {
namespace {

constexpr const char* pipe_link = "pipe:[";

/// perf_copy_attr() of kernel/events/core.c: sizes, and zeros beyond what is known.
int size_error(perf_event_attr& given) {
  const std::size_t size = given.size == 0 ? PERF_ATTR_SIZE_VER0 : given.size;
  constexpr std::size_t most = 4096;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  const bool fits = size >= PERF_ATTR_SIZE_VER0 && size <= most;
  if (fits && (size <= sizeof given ||
               std::all_of(bytes + sizeof given, bytes + size, [](auto b) { return b == 0; })))
    return 0;
  given.size = sizeof given;
  return E2BIG;
}

int attribute_error(const perf_event_attr& attr, pid_t pid, int cpu, unsigned long flags) {
  constexpr unsigned long known_flags =
      PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC;
  constexpr std::uint64_t highest = std::uint64_t{1} << 63;
  if ((flags & ~known_flags) != 0 || (attr.read_format & ~std::uint64_t{PERF_FORMAT_MAX - 1}) != 0 ||
      (attr.sample_type & ~std::uint64_t{PERF_SAMPLE_MAX - 1}) != 0 || (attr.sample_period & highest) != 0 ||
      (pid == -1 && cpu == -1) || cpu < -1 || cpu >= sysconf(_SC_NPROCESSORS_CONF))
    return EINVAL;
  if (pid == -1) return EACCES; // a whole CPU: Linux would ask for a privilege
  char name[32];
  std::snprintf(name, sizeof name, "/proc/%d", pid);
  const bool exists =
      pid == 0 || (pid > 0 && real::syscall(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(name), 0) == 0);
  return exists ? 0 : ESRCH;
}

/// A group counts one target, and its leader leads itself.
int group_error_of(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd) {
  if (group_fd == -1) return 0;
  const std::int32_t leader = find_slot(group_fd);
  if (leader < 0) return EBADF;
  const Locked shared;
  const Slot& slot = shared->slots[leader];
  const pid_t target = pid == 0 ? static_cast<pid_t>(real::syscall(SYS_gettid)) : pid;
  const bool fits =
      slot.leader == leader && slot.target == target && slot.cpu == cpu && !attr.pinned && !attr.exclusive;
  return fits ? 0 : EINVAL;
}

/// A pipe that holds both ends of itself: it never becomes readable, and its number in /proc is its own.
int open_pipe(bool close_on_exec) {
  int ends[2];
  if (real::syscall(SYS_pipe2, reinterpret_cast<long>(ends), O_CLOEXEC) != 0) return -1;
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
  const long both = real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name),
                                  O_RDWR | (close_on_exec ? O_CLOEXEC : 0));
  const int error = errno;
  for (const int end : ends)
    real::close(end);
  errno = error;
  return static_cast<int>(both);
}

} // namespace

long open_unbacked(perf_event_attr& given, const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                   unsigned long flags) {
  int error = size_error(given);
  if (error == 0) error = attribute_error(attr, pid, cpu, flags);
  if (error == 0) error = group_error_of(attr, pid, cpu, group_fd);
  if (error == 0) return open_pipe((flags & PERF_FLAG_FD_CLOEXEC) != 0);
  errno = error;
  return -1;
}

std::uint64_t unbacked_id(int fd) {
  struct stat file {};
  return real::syscall(SYS_fstat, fd, reinterpret_cast<long>(&file)) == 0 ? file.st_ino : 0;
}

bool is_unbacked(const char* link) {
  return std::string_view(link).starts_with(pipe_link);
}

ssize_t read_unbacked(std::int32_t at, void* to, std::size_t bytes) {
  const Locked shared;
  const Slot& slot = shared->slots[at];
  if (shared->slots[slot.leader].failed) return 0; // a pinned event in error: end of file
  static Words words;                              // under the lock
  words.clear();
  append_read(*shared, slot, slot.read_format, words);
  const std::size_t size = words.size() * sizeof words[0];
  if (size > bytes) {
    errno = ENOSPC;
    return -1;
  }
  std::memcpy(to, words.data(), size);
  return static_cast<ssize_t>(size);
}

int control_unbacked(std::int32_t slot, unsigned long given, unsigned long argument) {
  const auto request = static_cast<std::uint32_t>(given); // Linux has 32 bits of it
  if (request == PERF_EVENT_IOC_SET_OUTPUT || request == PERF_EVENT_IOC_PAUSE_OUTPUT) return 0;
  if (request != PERF_EVENT_IOC_ID) {
    errno = ENOTTY;
    return -1;
  }
  const Locked shared;
  std::memcpy(reinterpret_cast<void*>(argument), &shared->slots[slot].id, sizeof shared->slots[slot].id);
  return 0;
}

} // namespace recount::emulate
