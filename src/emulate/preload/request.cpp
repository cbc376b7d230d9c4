#include "emulate/preload/request.hpp"

#include "emulate/settings.hpp"

#include <cstdint>

namespace recount::emulate {

// The sequence that Valgrind takes for a request and processors for nothing (valgrind.h, "client requests").
bool request(unsigned kind, long a, long b, long c) {
  volatile std::uint64_t words[6] = {RT_REQUEST_CODE(kind),
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
  return result != 0;
}

bool exact() {
  static const bool answered = settings().exact && request(RT_ASK);
  return answered;
}

// Whoever executes the program: to find that out would be counted.
Pause::Pause() {
  request(RT_PAUSE);
}
Pause::~Pause() {
  request(RT_RESUME);
}

} // namespace recount::emulate
