// `interrupts`: lets a timer interrupt it. See recount-kernels(7).
#include "kernel/provoked.hpp"
#include "kernel/system/native_system.hpp"
#include "recount/error.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace recount::kernel {

namespace {

volatile std::int64_t interrupts_seen = 0;

class InterruptsInstance : public Instance {
public:
  explicit InterruptsInstance(std::int64_t signals) {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupts_seen = interrupts_seen + 1; };
    action.sa_flags = SA_RESTART;
    sigaction(signal_, &action, &before_);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &context_.timer) != 0) {
      sigaction(signal_, &before_, nullptr);
      throw unavailable("interrupts", std::string("timer_create failed: ") + std::strerror(errno),
                        "ulimit -i", "reduce pending signals, or raise the limit");
    }
    context_.signals = signals;
    context_.seen = &interrupts_seen;
  }
  InterruptsInstance(const InterruptsInstance&) = delete;
  InterruptsInstance& operator=(const InterruptsInstance&) = delete;
  ~InterruptsInstance() override {
    syscall(SYS_timer_delete, context_.timer);
    sigaction(signal_, &before_, nullptr);
  }
  Region region() override { return {native::recount_kernel_interrupts, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.signals; }

private:
  const int signal_ = SIGRTMIN + 4;
  struct sigaction before_ {};
  native::Interrupts context_;
};

std::vector<Expectation> expected_interrupts(double n) {
  return {between("PAPI_HW_INT", n, 20 * n + 1000, "1 per signal, plus interrupts of other sources")};
}

} // namespace

Provoked interrupts() {
  return {"interrupts", "runs until N timer interrupts have occurred",
          number_parameter("signals", "timer interrupts, one per 200 microseconds", 50, 1, 1'000'000),
          expected_interrupts, [](std::int64_t n) -> std::unique_ptr<Instance> {
            return std::make_unique<InterruptsInstance>(n);
          }};
}

} // namespace recount::kernel
