#include "emulate/preload/kept_signal.hpp"

#include "emulate/preload/request.hpp"
#include "emulate/real.hpp"

#include <cerrno>
#include <cstdint>
#include <dlfcn.h>
#include <sys/syscall.h>

extern "C" void recount_emulate_return_from_signal();
asm(".text\n"
    ".hidden recount_emulate_return_from_signal\n"
    ".globl recount_emulate_return_from_signal\n"
    ".type recount_emulate_return_from_signal, @function\n"
    "recount_emulate_return_from_signal: movq $15, %rax\n" // SYS_rt_sigreturn
    "syscall\n");

namespace recount::emulate {
namespace {

constexpr int most_signals = 64;
struct Kept {
  Answer answer = nullptr;
  struct sigaction programs {}; ///< as the program has requested
};
Kept kept[most_signals];

using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
Sigaction real_sigaction() {
  static const auto function = reinterpret_cast<Sigaction>(dlsym(RTLD_NEXT, "sigaction"));
  return function;
}

/// Whether it is answered. Not even the access to errno is counted.
bool answered(const Kept& one, siginfo_t* info, void* context) {
  const Pause pause;
  const int error = errno;
  const bool done = one.answer(info, context);
  errno = error;
  return done;
}

void dispatch(int number, siginfo_t* info, void* context) {
  const Kept& one = kept[number];
  if (answered(one, info, context)) return;
  const int error = errno;
  if ((one.programs.sa_flags & SA_SIGINFO) != 0)
    one.programs.sa_sigaction(number, info, context);
  else if (one.programs.sa_handler != SIG_DFL && one.programs.sa_handler != SIG_IGN)
    one.programs.sa_handler(number);
  else
    real_sigaction()(number, &one.programs, nullptr); // it happens again, and ends the program
  errno = error;
}

} // namespace

// With a way back of the library's own: what it executes is not the program's.
void keep_signal(int number, Answer answer) {
  constexpr unsigned long own_restorer = 0x04000000; // SA_RESTORER of asm/signal.h
  struct {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  } action{dispatch, SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER | own_restorer,
           recount_emulate_return_from_signal, 0};
  kept[number].answer = answer;
  real_sigaction()(number, nullptr, &kept[number].programs);
  real::syscall(SYS_rt_sigaction, number, reinterpret_cast<long>(&action), 0, sizeof action.mask);
}

bool kept_action(int number, const struct sigaction* now, struct sigaction* before) {
  if (number <= 0 || number >= most_signals || kept[number].answer == nullptr) return false;
  if (before != nullptr) *before = kept[number].programs;
  if (now != nullptr) kept[number].programs = *now;
  return true;
}

} // namespace recount::emulate
