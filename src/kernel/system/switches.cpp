// `switches`: sleeps repeatedly. See recount-kernels(7).
#include "kernel/provoked.hpp"

#include "kernel/system/cpus.hpp"
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
  // lets it run on (do_nanosleep() in kernel/time/hrtimer.c); on a busy virtual machine 4 of 50 did.
  return {{"perf::CONTEXT-SWITCHES", n, n / 10 + 2, n / 10 + 2, "1 per sleep"}};
}

} // namespace

Provoked switches() {
  return {"switches", "sleeps repeatedly, one context switch each",
          number_parameter("sleeps", "sleeps of 50 microseconds", 200, 1, 1'000'000), expected_switches,
          [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<SwitchesInstance>(n); }};
}

// `migrations`: migrates to another CPU and back. See recount-kernels(7).
namespace {

class MigrationsInstance : public Instance {
public:
  explicit MigrationsInstance(std::int64_t moves) {
    CPU_ZERO(&masks_[0]);
    CPU_ZERO(&masks_[1]);
    CPU_SET(static_cast<unsigned>(cpus_.here()), &masks_[0]);
    CPU_SET(static_cast<unsigned>(cpus_.other()), &masks_[1]);
    context_ = {{&masks_[0], &masks_[1]}, sizeof masks_[0], moves, 0};
  }
  Region region() override { return {native::recount_kernel_migrations, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.moves; }

private:
  TwoCpus cpus_{"migrations"};
  cpu_set_t masks_[2];
  native::Migrations context_;
};

std::vector<Expectation> expected_migrations(double n) {
  return {{"perf::CPU-MIGRATIONS", n, 0, 0, "1 per move"},
          between("perf::CONTEXT-SWITCHES", n, 3 * n + 2, "1 to 3 per move")};
}

} // namespace

Provoked migrations() {
  return {
      "migrations", "migrates between two CPUs",
      number_parameter("moves", "migrations by sched_setaffinity(2)", 200, 1, 1'000'000), expected_migrations,
      [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<MigrationsInstance>(n); }};
}

} // namespace recount::kernel
