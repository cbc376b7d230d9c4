// A system call without a library call around it: the kernel's work plus two or three
// instructions.
#pragma once

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <unistd.h>
#endif

namespace recount::kernel::native {

/// Up to four arguments; a negative errno on failure, as the kernel returns it.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
#if defined(__x86_64__)
  long result = number;
  register long fourth asm("r10") = d;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = number;
  register long result asm("x0") = a;
  register long second asm("x1") = b, third asm("x2") = c, fourth asm("x3") = d;
  asm volatile("svc 0" : "+r"(result) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
  return result;
#else
  return ::syscall(number, a, b, c, d);
#endif
}

} // namespace recount::kernel::native
