#include "kernel/memory.hpp"
#include "kernel/system/provoked.hpp"
#include "kernel/system/native_system.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

// A second thread on its own CPU, for kernels that need one.
namespace recount::kernel {

/// While `awake` is 1 the helper calls `play(context)` over and over; else it sleeps and looks again every 50
/// microseconds, so that it does not disturb other code between regions, and a region wakes it with a store.
class Helper {
public:
  /// Starts it on `cpu`, on which this process must be allowed to run.
  Helper(int cpu, void (*play)(void* context), void* context);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();

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
  for (const char* preset : {"PAPI_CA_SNP", "PAPI_CA_SHR", "PAPI_CA_CLN", "PAPI_CA_INV", "PAPI_CA_ITV"})
    all.push_back(between(preset, n / 2, 16 * n, form));
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

} // namespace

Provoked sharing() {
  return {"sharing",
          "writes one line alternately with a thread on another CPU",
          number_parameter("rounds", "rounds of one write on each CPU", 1000, 1, std::int64_t{1} << 40),
          expected_sharing,
          [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<SharingInstance>(n); },
          0,
          4096,
          simulate_sharing};
}

// `shootdowns`: invalidates a translation cached by another CPU. See recount-kernels(7).
namespace {

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

} // namespace

Provoked shootdowns() {
  return {
      "shootdowns", "revokes write permission of a page in use by another CPU",
      number_parameter("rounds", "rounds of mprotect(2) and back", 1000, 1, 1'000'000), expected_shootdowns,
      [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<ShootdownsInstance>(n); }};
}

Helper::Helper(int cpu, void (*play)(void* context), void* context)
    : thread_([this, cpu, play, context] {
        static_cast<void>(move_to(cpu));
        while (!ends_) {
          if (awake_ == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
          busy_ = awake_;
          while (awake_ != 0 && !ends_)
            play(context);
        }
      }) {}

Helper::~Helper() {
  ends_ = true;
  thread_.join();
}

} // namespace recount::kernel
