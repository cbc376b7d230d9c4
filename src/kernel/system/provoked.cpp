#include "kernel/system/provoked.hpp"

#include "kernel/memory.hpp"
#include "kernel/point.hpp"
#include "kernel/system/native_system.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace recount::kernel {

ProvokedKernel::ProvokedKernel(const Provoked& row)
    : ClosedFormKernel(row.name, row.prose, {row.times}), row_(row) {}

std::int64_t ProvokedKernel::times(const result::Params& point) const {
  return number(complete(*this, point), row_.times.name);
}

std::int64_t ProvokedKernel::bytes(const result::Params& point) const {
  return times(point) * row_.bytes_each + row_.bytes;
}

std::unique_ptr<Instance> ProvokedKernel::prepare(const result::Params& point) const {
  return row_.prepare(times(point));
}

std::vector<Expectation> ProvokedKernel::expected(const result::Params& point) const {
  return row_.expected(static_cast<double>(times(point)));
}

std::int64_t ProvokedKernel::simulate(const result::Params& point, model::Hierarchy& caches) const {
  return row_.simulate ? row_.simulate(times(point), caches) : ClosedFormKernel::simulate(point, caches);
}

std::string ProvokedKernel::unsimulated() const {
  return row_.simulate ? std::string() : ClosedFormKernel::unsimulated();
}

// `faults`: touches pages that the process does not have. See recount-kernels(7).

namespace {

class FaultsInstance : public Instance {
public:
  FaultsInstance(std::int64_t pages, std::int64_t bytes)
      : memory_(pages * bytes, 0, Memory::Pages::small, fmt::format("faults --pages {}", pages)),
        context_{reinterpret_cast<std::uint8_t*>(memory_.data()), pages, bytes} {}
  Region region() override { return {native::recount_kernel_faults, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.pages; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Faults context_;
};

std::vector<Expectation> expected_faults(double n) {
  return {{"perf::PAGE-FAULTS", n, 0, 0, "1 per page"},
          {"perf::MINOR-FAULTS", n, 0, 0, "1 per page: no disk input"},
          {"perf::MAJOR-FAULTS", 0, 0, 0, "0: no disk input"}};
}

} // namespace

Provoked faults() {
  return {"faults",
          "touches unmapped pages, one page fault each",
          number_parameter("pages", "pages to touch", 1000, 1, std::int64_t{1} << 32),
          expected_faults,
          [](std::int64_t n) -> std::unique_ptr<Instance> {
            return std::make_unique<FaultsInstance>(n, sysconf(_SC_PAGESIZE));
          },
          sysconf(_SC_PAGESIZE)};
}

// `interrupts`: lets a timer interrupt it. See recount-kernels(7).

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

// `switches`: sleeps repeatedly. See recount-kernels(7).

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

// `ticks`: waits for the time stamp counter. See recount-kernels(7).

namespace {

class TicksInstance : public Instance {
public:
  explicit TicksInstance(std::int64_t ticks) { context_.ticks = ticks; }
  Region region() override { return {native::recount_kernel_ticks, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return 1; }

private:
  native::Ticks context_;
};

std::vector<Expectation> expected_ticks(double n) {
  if (!native::has_ticks) return {};
  // The counter is read every few dozen ticks, and last when they have passed.
  return {{"msr/tsc/", n, 0, 200, "the requested number of ticks"}};
}

} // namespace

Provoked ticks() {
  return {"ticks", "waits until the time stamp counter has advanced",
          number_parameter("ticks", "ticks to wait for", 400'000, 1'000, 1'000'000'000'000), expected_ticks,
          [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<TicksInstance>(n); }};
}

Affinity::Affinity() {
  CPU_ZERO(&before_);
  sched_getaffinity(0, sizeof before_, &before_);
}

Affinity::~Affinity() {
  sched_setaffinity(0, sizeof before_, &before_);
}

bool move_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

TwoCpus::TwoCpus(const char* kernel) : here_(std::max(0, sched_getcpu())) {
  // A sweep binds the process that measures to one CPU, but not the one that started it.
  cpu_set_t own, parents;
  CPU_ZERO(&own);
  CPU_ZERO(&parents);
  sched_getaffinity(0, sizeof own, &own);
  sched_getaffinity(getppid(), sizeof parents, &parents);
  for (int cpu = 0; cpu < CPU_SETSIZE && other_ < 0; ++cpu) {
    const auto at = static_cast<unsigned>(cpu);
    if (cpu != here_ && (CPU_ISSET(at, &own) || CPU_ISSET(at, &parents)) && move_to(cpu)) other_ = cpu;
  }
  if (other_ < 0 || !move_to(here_))
    throw unavailable(kernel, "needs two CPUs, but this process may run on one only", {},
                      "start recount without taskset(1), or in a cpuset of two CPUs");
}

} // namespace recount::kernel
