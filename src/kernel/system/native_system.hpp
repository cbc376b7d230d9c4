// The measured functions that provoke what the operating system does. They make the provoking
// system calls directly, without library calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recount::kernel::native {

// Two threads and one line of memory.
struct Share {
  volatile std::int64_t* turn = nullptr; ///< odd: the helper's turn; only the one whose turn it is writes
  volatile int* awake = nullptr;         ///< the helper runs while it is 1
  std::int64_t rounds = 0;
};

/// Executes the given number of rounds: writes the line, and waits until the helper has written it.
extern "C" void recount_kernel_share(void* context);
/// The helper's side: writes the line if it is its turn.
extern "C" void recount_kernel_share_back(void* context);

struct Faults {
  volatile std::uint8_t* first = nullptr;
  std::int64_t pages = 0, page = 4096; ///< how many, and bytes of one
};
struct Switches {
  std::int64_t sleeps = 0;
};
struct Ticks {
  std::int64_t ticks = 0;
};
struct Migrations {
  const void* masks[2] = {}; ///< of one CPU each
  std::size_t bytes = 0;     ///< of a mask
  std::int64_t moves = 0;
  std::int64_t at = 0; ///< the mask in force, between calls too
};
struct Interrupts {
  int timer = 0; ///< of timer_create(2), as the kernel numbers them
  std::int64_t signals = 0;
  volatile std::int64_t* seen = nullptr; ///< counted by the handler
};
struct Shootdowns {
  volatile std::uint8_t* page = nullptr;
  std::int64_t bytes = 4096, rounds = 0;
  volatile int* awake = nullptr;      ///< while it is 1 the helper executes on its CPU
  const volatile int* busy = nullptr; ///< 1: it does
};

/// Releases the pages (one madvise(2)), then writes a byte of each.
extern "C" void recount_kernel_faults(void* context);
/// Sleeps 50 microseconds at a time.
extern "C" void recount_kernel_switches(void* context);
/// Waits until the time stamp counter has advanced that far; does nothing without has_ticks.
extern "C" void recount_kernel_ticks(void* context);
/// Whether this architecture has a time stamp counter that perf counts, too.
#if defined(__x86_64__)
inline constexpr bool has_ticks = true;
#else
inline constexpr bool has_ticks = false;
#endif
/// Pins itself alternately to two CPUs.
extern "C" void recount_kernel_migrations(void* context);
/// Runs until a timer of 200 microseconds has sent the given number of signals.
extern "C" void recount_kernel_interrupts(void* context);
/// Writes a page, forbids writing it, allows it again.
extern "C" void recount_kernel_shootdowns(void* context);

} // namespace recount::kernel::native
