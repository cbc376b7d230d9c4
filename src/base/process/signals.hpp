// Signals around fork, and cancellation of threads.
#pragma once

#include <csignal>
#include <initializer_list>
#include <pthread.h>

namespace recount::process {

/// Postpones the cancellation of this thread (pthread_cancel(3)) during its lifetime. For functions that are
/// noexcept or catch everything: a cancelled thread unwinds its stack, which ends the process there.
class CancelBlocked {
public:
  CancelBlocked() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  CancelBlocked(const CancelBlocked&) = delete;
  CancelBlocked& operator=(const CancelBlocked&) = delete;
  ~CancelBlocked() { ::pthread_setcancelstate(before_, &before_); }

private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// Blocks every signal of this thread during its lifetime.
class SignalsBlocked {
public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_{};
};

[[nodiscard]] inline bool is_ignored(int number) noexcept {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

/// The number of the signal that catch_stop_signals() has recorded; 0: none.
inline volatile std::sig_atomic_t stop_signal = 0;

/// From now on SIGINT, SIGTERM and SIGHUP are recorded only; a second one ends the program at once.
inline void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) { stop_signal = number; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (number != SIGHUP || !is_ignored(SIGHUP)) // by nohup(1)
      ::sigaction(number, &action, nullptr);
}

/// In a forked child: every handler back to the default (an ignored signal stays ignored, as over exec, but
/// for SIGPIPE and SIGXFSZ, which recount itself ignores), and nothing blocked. Async-signal-safe.
inline void forget_signal_handlers() noexcept {
  for (int number = 1; number < NSIG; ++number) {
    if (is_ignored(number) && number != SIGPIPE && number != SIGXFSZ) continue;
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(number, &plain, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

} // namespace recount::process
