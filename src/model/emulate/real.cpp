#include "model/emulate/real.hpp"

#include <cerrno>
#include <sys/syscall.h>

namespace recount::emulate::real {

// Straight to Linux: nothing to look up, and safe in signal handlers.
long syscall(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long result asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#else
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
#endif
  constexpr long last_error = -4095;
  if (result < 0 && result >= last_error) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

ssize_t read(int fd, void* to, std::size_t bytes) {
  return syscall(SYS_read, fd, reinterpret_cast<long>(to), static_cast<long>(bytes));
}
int close(int fd) {
  return static_cast<int>(syscall(SYS_close, fd));
}
int ioctl(int fd, unsigned long request, unsigned long argument) {
  return static_cast<int>(syscall(SYS_ioctl, fd, static_cast<long>(request), static_cast<long>(argument)));
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(bytes), protection, flags, fd, offset));
}
int munmap(void* at, std::size_t bytes) {
  return static_cast<int>(syscall(SYS_munmap, reinterpret_cast<long>(at), static_cast<long>(bytes)));
}
int mprotect(void* at, std::size_t bytes, int protection) {
  return static_cast<int>(
      syscall(SYS_mprotect, reinterpret_cast<long>(at), static_cast<long>(bytes), protection));
}

} // namespace recount::emulate::real
