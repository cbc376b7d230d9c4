#include "kernel/system/native_system.hpp"

namespace recount::kernel::native {

namespace {

// One writer at a time, and the line is the only shared data: plain stores and loads suffice on x86 (TSO),
// elsewhere they need release and acquire.
void put(volatile std::int64_t* turn, std::int64_t value) {
  __atomic_store_n(turn, value, __ATOMIC_RELEASE);
}
std::int64_t look(const volatile std::int64_t* turn) {
  return __atomic_load_n(turn, __ATOMIC_ACQUIRE);
}
/// Pauses so that the other CPU can access the line.
void wait_a_little() {
#ifdef __x86_64__
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

} // namespace

extern "C" void recount_kernel_share(void* context) {
  const Share at = *static_cast<const Share*>(context);
  *at.awake = 1;
  for (std::int64_t i = at.rounds; i > 0; --i) {
    const std::int64_t mine = look(at.turn) + 1;
    put(at.turn, mine);
    while (look(at.turn) == mine)
      wait_a_little();
  }
  *at.awake = 0;
}

extern "C" void recount_kernel_share_back(void* context) {
  const Share& at = *static_cast<const Share*>(context);
  if (const std::int64_t seen = look(at.turn); seen % 2 != 0)
    put(at.turn, seen + 1);
  else
    wait_a_little();
}

} // namespace recount::kernel::native
