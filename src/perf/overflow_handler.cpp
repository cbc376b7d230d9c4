// The signal handler of overflows, and the objects that it serves.
#include "perf/overflow_signal.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace recount::perf {
namespace {

/// An object and the thread that made it. A handler may run at any time, in any thread, so there is no lock:
/// it looks at the objects of its own thread only, since others may be destroyed meanwhile.
struct Served {
  std::atomic<pid_t> tid = 0; ///< 0: free
  std::atomic<SignalOverflow*> overflow = nullptr;
};
std::array<Served, 256> served{};

void handle_overflow(int, siginfo_t* info, void* context) {
  const int before = errno;
  // Where the queue of signals is full the kernel sends a plain SIGIO, which names no descriptor.
  const bool named = info->si_code == POLL_IN || info->si_code == POLL_HUP;
  const pid_t tid = gettid();
  for (Served& slot : served) {
    if (slot.tid.load(std::memory_order_acquire) != tid) continue;
    SignalOverflow* const overflow = slot.overflow.load(std::memory_order_acquire);
    if (overflow != nullptr && overflow->concerns(named ? info->si_fd : -1))
      overflow->handle(static_cast<ucontext_t*>(context));
  }
  errno = before;
}

bool ours(const struct sigaction& now) {
  return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle_overflow;
}

bool free(const struct sigaction& now) {
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

/// Stays installed to the end: the default action for a pending signal would kill the process.
bool install(int number) {
  struct sigaction action {};
  action.sa_sigaction = handle_overflow;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask); // no other handler in between: the counters are stopped meanwhile
  return sigaction(number, &action, nullptr) == 0;
}

} // namespace

void serve(SignalOverflow& overflow, int number) {
  struct sigaction now {};
  const bool known = sigaction(number, nullptr, &now) == 0;
  if (known && !ours(now) && !free(now))
    throw bad_input(fmt::format("signal {}", number), "already has a handler installed by the program",
                    "set OverflowOptions::signal to another one, SIGRTMIN to SIGRTMAX");
  if (!known || (!ours(now) && !install(number)))
    throw bad_input(fmt::format("signal {}", number), "cannot be handled",
                    "use one from SIGRTMIN to SIGRTMAX");
  sigaction(SIGIO, nullptr, &now);
  if (free(now)) install(SIGIO);
  for (Served& slot : served) {
    pid_t nobody = 0;
    if (!slot.tid.compare_exchange_strong(nobody, gettid())) continue;
    slot.overflow.store(&overflow, std::memory_order_release);
    return;
  }
  throw unavailable("overflow", fmt::format("{} objects already deliver by signal", served.size()), {},
                    "destroy some of them, or use Delivery::thread");
}

void forget(SignalOverflow& overflow) noexcept {
  for (Served& slot : served) {
    SignalOverflow* this_one = &overflow;
    if (slot.overflow.compare_exchange_strong(this_one, nullptr))
      slot.tid.store(0, std::memory_order_release);
  }
}

} // namespace recount::perf
