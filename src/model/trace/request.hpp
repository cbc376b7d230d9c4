// Requests of a program under the Valgrind tool to it.
#pragma once

#include "model/trace/protocol.h"

#include <cstdint>

namespace recount::trace {

/// The tool's answer; 0: the program does not run under the tool. Valgrind takes this sequence for a request
/// (valgrind.h); for processors it is a no-op. Thread-safe.
inline std::uint64_t request(unsigned kind, long a = 0, long b = 0, long c = 0) {
  [[maybe_unused]] volatile std::uint64_t words[6] = {RT_REQUEST_CODE(kind),
                                                      static_cast<std::uint64_t>(a),
                                                      static_cast<std::uint64_t>(b),
                                                      static_cast<std::uint64_t>(c),
                                                      0,
                                                      0};
  std::uint64_t result = 0;
#if defined(__x86_64__)
  asm volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
               : "=d"(result)
               : "a"(&words[0]), "0"(result)
               : "cc", "memory");
#endif
  return result;
}

/// During its lifetime, nothing that the calling thread executes is the program's: no event counts it, and it
/// takes no time on an emulated machine. Without a check for the tool: the check itself would be counted.
class Pause {
public:
  Pause() { request(RT_PAUSE); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause() { request(RT_RESUME); }
};

} // namespace recount::trace
