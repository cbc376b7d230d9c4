// `switches`: sleeps repeatedly. See recount-kernels(7).
#include "kernel/provoked.hpp"
#include "kernel/system/native_system.hpp"

namespace recount::kernel {

namespace {

class SwitchesInstance : public Instance {
public:
  explicit SwitchesInstance(std::int64_t sleeps) { context_.sleeps = sleeps; }
  Region region() override { return {native::recount_kernel_switches, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.sleeps; }

private:
  native::Switches context_;
};

std::vector<Expectation> expected_switches(double n) {
  // More: other tasks preempt it between sleeps. Fewer: a timer that expires before the task is switched out
  // lets it run on (do_nanosleep() in kernel/time/hrtimer.c).
  return {{"perf::CONTEXT-SWITCHES", n, n / 50 + 2, n / 10 + 2, "1 per sleep"}};
}

} // namespace

Provoked switches() {
  return {"switches", "sleeps repeatedly, one context switch each",
          number_parameter("sleeps", "sleeps of 50 microseconds", 200, 1, 1'000'000), expected_switches,
          [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<SwitchesInstance>(n); }};
}

} // namespace recount::kernel
