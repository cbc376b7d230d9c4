#include "emulate/preload/kept_signal.hpp"

#include "emulate/real.hpp"

#include <cerrno>
#include <dlfcn.h>
#include <sys/syscall.h>

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

void dispatch(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const Kept& one = kept[number];
  if (one.answer(info, context)) {
    errno = error;
    return;
  }
  if ((one.programs.sa_flags & SA_SIGINFO) != 0)
    one.programs.sa_sigaction(number, info, context);
  else if (one.programs.sa_handler != SIG_DFL && one.programs.sa_handler != SIG_IGN)
    one.programs.sa_handler(number);
  else
    real_sigaction()(number, &one.programs, nullptr); // it happens again, and ends the program
  errno = error;
}

} // namespace

void keep_signal(int number, Answer answer) {
  struct sigaction action {};
  action.sa_sigaction = dispatch;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER;
  kept[number].answer = answer;
  real_sigaction()(number, &action, &kept[number].programs);
}

bool kept_action(int number, const struct sigaction* now, struct sigaction* before) {
  if (number <= 0 || number >= most_signals || kept[number].answer == nullptr) return false;
  if (before != nullptr) *before = kept[number].programs;
  if (now != nullptr) kept[number].programs = *now;
  return true;
}

} // namespace recount::emulate
