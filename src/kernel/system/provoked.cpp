#include "base/affinity.hpp"
#include "base/host/emulation.hpp"
#include "kernel/blocks/block.hpp"
#include "kernel/kernel.hpp"
#include "kernel/point.hpp"
#include "kernel/system/native_system.hpp"
#include "kernel/tally.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace recount::kernel {

// Kernels that provoke an action of the operating system or of another CPU n times.

namespace {

/// One kernel as a row: its parameter is the number of repetitions.
struct Provoked {
  std::string name, prose;
  Parameter times;
  std::vector<Expectation> (*expected)(double n) = nullptr;
  std::unique_ptr<Instance> (*prepare)(std::int64_t n) = nullptr; ///< may throw recount::Error (unavailable)
  std::int64_t bytes_each = 0, bytes = 4096; ///< of memory: n times the one, and the other
  /// None: closed forms alone.
  std::int64_t (*simulate)(std::int64_t n, model::Hierarchy& caches) = nullptr;
};

class ProvokedKernel : public BasicKernel {
public:
  explicit ProvokedKernel(const Provoked& row) : BasicKernel(row.name, row.prose, {row.times}), row_(row) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    return times(point) * row_.bytes_each + row_.bytes;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    return row_.prepare(times(point));
  }
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override {
    return row_.expected(static_cast<double>(times(point)));
  }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    return row_.simulate ? row_.simulate(times(point), caches) : BasicKernel::simulate(point, caches);
  }
  [[nodiscard]] std::string unsimulated() const override {
    return row_.simulate ? std::string() : BasicKernel::unsimulated();
  }

private:
  [[nodiscard]] std::int64_t times(const Params& point) const {
    return number(complete(*this, point), row_.times.name);
  }
  Provoked row_;
};

// CPUs for kernels that need more than one.

/// Pins the calling thread to its current CPU, and finds another CPU allowed for the process.
class TwoCpus {
public:
  /// Throws recount::Error (unavailable) naming the kernel when there is no other.
  explicit TwoCpus(const char* kernel) : here_(std::max(0, sched_getcpu())) {
    if (host::this_emulation().exact)
      throw unavailable(kernel, "needs two cores with caches of their own, and the emulated machine has one",
                        {}, "recount emulate --fast");
    // A sweep binds the process that measures to one CPU, but not the one that started it.
    cpu_set_t parents;
    CPU_ZERO(&parents);
    sched_getaffinity(getppid(), sizeof parents, &parents);
    for (int cpu = 0; cpu < CPU_SETSIZE && other_ < 0; ++cpu)
      if (cpu != here_ && (before_.has(cpu) || CPU_ISSET(static_cast<unsigned>(cpu), &parents)) &&
          base::pin_to(cpu))
        other_ = cpu;
    if (other_ < 0 || !base::pin_to(here_))
      throw unavailable(kernel, "needs two CPUs, but this process may run on one only", {},
                        "start recount without taskset(1), or in a cpuset of two CPUs");
  }
  [[nodiscard]] int here() const { return here_; }
  [[nodiscard]] int other() const { return other_; }

private:
  base::Affinity before_;
  int here_, other_ = -1;
};

// `faults`: touches pages that the process does not have. See recount-kernels(7).

std::vector<Expectation> expected_faults(double n) {
  return {{"perf::PAGE-FAULTS", n, 0, 0, "1 per page"},
          {"perf::MINOR-FAULTS", n, 0, 0, "1 per page: no disk input"},
          {"perf::MAJOR-FAULTS", 0, 0, 0, "0: no disk input"}};
}

// `interrupts`: lets a timer interrupt it. See recount-kernels(7).

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

// `switches`: sleeps repeatedly. See recount-kernels(7).

std::vector<Expectation> expected_switches(double n) {
  // More: other tasks preempt it between sleeps. Fewer: a timer that expires before the task is switched out
  // lets it run on (do_nanosleep() in kernel/time/hrtimer.c); on a busy virtual machine 4 of 50 did.
  return {{"perf::CONTEXT-SWITCHES", n, n / 10 + 2, n / 10 + 2, "1 per sleep"}};
}

// `migrations`: migrates to another CPU and back. See recount-kernels(7).

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

// `ticks`: waits for the time stamp counter. See recount-kernels(7).

std::vector<Expectation> expected_ticks(double n) {
  if (!native::has_ticks) return {};
  // The counter is read every few dozen ticks, and last when they have passed.
  return {{"msr/tsc/", n, 0, 200, "the requested number of ticks"}};
}

// `cell`: accesses to one address given in advance, for breakpoints. See recount-kernels(7).

const native::Block& cell_block(const Params& point) {
  return native::find_block("transfer_" + text(point, "operation"), "cell");
}

class CellInstance : public NativeInstance<native::BlockArguments> {
public:
  CellInstance(Code code, std::uint64_t address, std::int64_t turns)
      : NativeInstance(code, {turns, reinterpret_cast<void*>(address), 0, 0}, turns * native::steps_per_turn),
        page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    const std::uint64_t start = address / page_ * page_;
    mapping_ = mmap(reinterpret_cast<void*>(start), page_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapping_ != reinterpret_cast<void*>(start)) { // an old kernel treats the address as a hint
      if (mapping_ != MAP_FAILED) munmap(mapping_, page_);
      throw unavailable(fmt::format("cell --address {}", address),
                        std::string("cannot be mapped: ") + std::strerror(errno), {},
                        "choose another --address");
    }
    *static_cast<volatile std::int64_t*>(context_.data) = 0;
  }
  CellInstance(const CellInstance&) = delete;
  CellInstance& operator=(const CellInstance&) = delete;
  ~CellInstance() override { munmap(mapping_, page_); }

  [[nodiscard]] Placement placement() const override {
    return {reinterpret_cast<std::uintptr_t>(context_.data), static_cast<std::int64_t>(page_),
            static_cast<std::int64_t>(page_), 0, 0};
  }

private:
  std::size_t page_;
  void* mapping_ = nullptr;
};

class CellKernel : public BasicKernel {
public:
  CellKernel()
      : BasicKernel(
            "cell", "loads from or stores to one given address",
            {choice_parameter("operation", "operation per step", {"store", "load"}),
             number_parameter("turns", fmt::format("loop iterations of {} steps", native::steps_per_turn),
                              100, 1, std::int64_t{1} << 40),
             number_parameter("address", "address of the 8 bytes, a multiple of 8", std::int64_t{1} << 45,
                              1 << 20, (std::int64_t{1} << 47) - (1 << 20), Parameter::Unit::bytes)}) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    const Params at = complete(*this, point);
    static_cast<void>(cell_block(at));
    if (number(at, "address") % 8 != 0)
      throw bad_input("cell --address", fmt::format("{} is not a multiple of 8", number(at, "address")));
    return 8;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    static_cast<void>(bytes(point));
    const Params at = complete(*this, point);
    return std::make_unique<CellInstance>(
        cell_block(at).code, static_cast<std::uint64_t>(number(at, "address")), number(at, "turns"));
  }
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override {
    static_cast<void>(bytes(point));
    const Params at = complete(*this, point);
    const native::Block& block = cell_block(at);
    const auto turns = static_cast<double>(number(at, "turns"));
    auto all = instruction_presets(native::steps_per_turn * block.step + block.turn, turns, block.once);
    const double stores = turns * native::steps_per_turn * block.step.stores,
                 loads = turns * native::steps_per_turn * block.step.loads;
    // As perf-record(1) writes breakpoints; x86 has none for loads alone.
    const std::string place = fmt::format("mem:{:#x}/8:", number(at, "address"));
    all.push_back({place + "w", stores, 0, 0, "16 stores per turn"});
    all.push_back({place + "rw", stores + loads, 0, 0, "16 accesses per turn"});
    return all;
  }
};

} // namespace

const Kernel& cell_kernel() {
  static const CellKernel kernel;
  return kernel;
}

// A second thread on its own CPU, for kernels that need one.

/// While `awake` is 1 the helper calls `play(context)` over and over; else it sleeps and looks again every 50
/// microseconds, so that it does not disturb other code between regions, and a region wakes it with a store.
class Helper {
public:
  /// Starts it on `cpu`, on which this process must be allowed to run.
  Helper(int cpu, void (*play)(void* context), void* context)
      : thread_([this, cpu, play, context] {
          static_cast<void>(base::pin_to(cpu));
          while (!ends_) {
            if (awake_ == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
            busy_ = awake_;
            while (awake_ != 0 && !ends_)
              play(context);
          }
        }) {}
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() {
    ends_ = true;
    thread_.join();
  }

  [[nodiscard]] volatile int* awake() { return &awake_; }
  /// 1 from when the helper has seen that it is awake until it has seen that it is not.
  [[nodiscard]] const volatile int* busy() const { return &busy_; }

private:
  alignas(128) volatile int awake_ = 0; // on its own cache line
  alignas(128) volatile int busy_ = 0;
  alignas(128) std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// `sharing`: two CPUs write one line in turn. See recount-kernels(7).

namespace {

class SharingInstance : public Instance {
public:
  explicit SharingInstance(std::int64_t rounds)
      : helper_(cpus_.other(), native::recount_kernel_share_back, &context_) {
    context_ = {&turn_, helper_.awake(), rounds};
  }
  Region region() override { return {native::recount_kernel_share, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.rounds; }

private:
  TwoCpus cpus_{"sharing"};
  alignas(128) volatile std::int64_t turn_ = 0; // alone on its line and on the adjacent line
  alignas(128) native::Share context_;
  Helper helper_;
};

std::vector<Expectation> expected_sharing(double n) {
  const char* form = "1 per round; more where a line is read while the other CPU writes it";
  std::vector<Expectation> all;
  expect(all, {"PAPI_CA_SNP", "PAPI_CA_SHR", "PAPI_CA_CLN", "PAPI_CA_INV", "PAPI_CA_ITV"},
         between("", n / 2, 16 * n, form));
  return all;
}

/// Each CPU reads the value of the other once and writes its own, in turn, beginning with core 0; it does not
/// poll. As counters of the measured thread, the counts are those that the accesses of core 0 cause.
std::int64_t simulate_sharing(std::int64_t rounds, model::Hierarchy& caches) {
  constexpr unsigned bytes = sizeof(std::int64_t);
  if (caches.machine().cores < 2)
    throw unavailable("sharing",
                      "needs a machine of two cores, and " + caches.machine().name + " is described with one",
                      {}, "use --witness model:" + caches.machine().name + "~cores=2");
  const std::uint64_t turn = array_base(caches);
  model::repeat(
      caches, rounds,
      [&] {
        caches.load(turn, bytes);
        caches.store(turn, bytes);
        caches.select(1);
        const model::Counts own = caches.counts();
        caches.load(turn, bytes);
        caches.store(turn, bytes);
        caches.add(own, caches.counts(), 1);
        caches.select(0);
        caches.load(turn, bytes);
      },
      &caches.progress);
  return rounds;
}

// `shootdowns`: invalidates a translation cached by another CPU. See recount-kernels(7).

/// Keeps its CPU in the address space of this process, and the page in its TLB.
void look_at_page(void* at) {
  static_cast<void>(*static_cast<const volatile std::uint8_t*>(at));
}

class ShootdownsInstance : public Instance {
public:
  explicit ShootdownsInstance(std::int64_t rounds)
      : memory_(sysconf(_SC_PAGESIZE), 0, Memory::Pages::small, "shootdowns"),
        helper_(cpus_.other(), look_at_page, memory_.data()),
        context_{reinterpret_cast<std::uint8_t*>(memory_.data()), sysconf(_SC_PAGESIZE), rounds,
                 helper_.awake(), helper_.busy()} {}
  Region region() override { return {native::recount_kernel_shootdowns, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.rounds; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  TwoCpus cpus_{"shootdowns"};
  Memory memory_;
  Helper helper_;
  native::Shootdowns context_;
};

std::vector<Expectation> expected_shootdowns(double n) {
  return {between("PAPI_TLB_SD", n / 8, 8 * n,
                  "1 per round; more where a CPU also counts its own invalidations, fewer where a "
                  "hypervisor flushes the TLB of a descheduled virtual CPU")};
}

template <class Own>
std::unique_ptr<Instance> make_own(std::int64_t n) {
  return std::make_unique<Own>(n);
}

std::unique_ptr<Instance> make_faults(std::int64_t pages) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  auto memory = std::make_unique<Memory>(pages * page, 0, Memory::Pages::small,
                                         fmt::format("faults --pages {}", pages));
  const native::Faults context{reinterpret_cast<std::uint8_t*>(memory->data()), pages, page};
  return make_instance(native::recount_kernel_faults, context, pages, std::move(memory));
}

} // namespace

std::vector<const Kernel*> provoked_kernels() {
  static const std::vector<Provoked> rows = {
      {.name = "faults",
       .prose = "touches unmapped pages, one page fault each",
       .times = number_parameter("pages", "pages to touch", 1000, 1, std::int64_t{1} << 32),
       .expected = expected_faults,
       .prepare = make_faults,
       .bytes_each = sysconf(_SC_PAGESIZE)},
      {.name = "switches",
       .prose = "sleeps repeatedly, one context switch each",
       .times = number_parameter("sleeps", "sleeps of 50 microseconds", 200, 1, 1'000'000),
       .expected = expected_switches,
       .prepare =
           [](std::int64_t n) {
             return make_instance(native::recount_kernel_switches, native::Switches{n}, n);
           }},
      {.name = "ticks",
       .prose = "waits until the time stamp counter has advanced",
       .times = number_parameter("ticks", "ticks to wait for", 400'000, 1'000, 1'000'000'000'000),
       .expected = expected_ticks,
       .prepare =
           [](std::int64_t n) { return make_instance(native::recount_kernel_ticks, native::Ticks{n}, 1); }},
      {.name = "migrations",
       .prose = "migrates between two CPUs",
       .times = number_parameter("moves", "migrations by sched_setaffinity(2)", 200, 1, 1'000'000),
       .expected = expected_migrations,
       .prepare = make_own<MigrationsInstance>},
      {.name = "interrupts",
       .prose = "runs until N timer interrupts have occurred",
       .times = number_parameter("signals", "timer interrupts, one per 200 microseconds", 50, 1, 1'000'000),
       .expected = expected_interrupts,
       .prepare = make_own<InterruptsInstance>},
      {.name = "shootdowns",
       .prose = "revokes write permission of a page in use by another CPU",
       .times = number_parameter("rounds", "rounds of mprotect(2) and back", 1000, 1, 1'000'000),
       .expected = expected_shootdowns,
       .prepare = make_own<ShootdownsInstance>},
      {.name = "sharing",
       .prose = "writes one line alternately with a thread on another CPU",
       .times = number_parameter("rounds", "rounds of one write on each CPU", 1000, 1, std::int64_t{1} << 40),
       .expected = expected_sharing,
       .prepare = make_own<SharingInstance>,
       .simulate = simulate_sharing}};
  static const std::vector<ProvokedKernel> kernels(rows.begin(), rows.end());
  std::vector<const Kernel*> all;
  for (const ProvokedKernel& kernel : kernels)
    all.push_back(&kernel);
  return all;
}

} // namespace recount::kernel
