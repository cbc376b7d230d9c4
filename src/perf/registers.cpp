#include "perf/cpu_registers.hpp"

#include <recount/user_read.hpp>

namespace recount {

Registers cpu_registers() noexcept {
  return {[](void*, std::uint32_t index) { return perf::cpu_counter(index); },
          [](void*) { return perf::cpu_clock(); }, nullptr};
}

} // namespace recount
