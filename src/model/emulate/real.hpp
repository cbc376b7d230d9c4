// The functions that this library stands in front of, as libc has them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <sys/syscall.h>
#include <sys/types.h>

namespace recount::emulate::real {

long syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);
inline pid_t gettid() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}
inline pid_t getpid() {
  return static_cast<pid_t>(syscall(SYS_getpid));
}
/// -1, with errno.
inline int refuse(int error) {
  errno = error;
  return -1;
}
ssize_t read(int fd, void* to, std::size_t bytes);
int close(int fd);
int ioctl(int fd, unsigned long request, unsigned long argument);
void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset);
int munmap(void* at, std::size_t bytes);
int mprotect(void* at, std::size_t bytes, int protection);

} // namespace recount::emulate::real
