// `shootdowns`: invalidates a translation cached by another CPU. See recount-kernels(7).
#include "kernel/blocks/helper.hpp"
#include "kernel/memory.hpp"
#include "kernel/provoked.hpp"
#include "kernel/system/cpus.hpp"
#include "kernel/system/native_system.hpp"

#include <unistd.h>

namespace recount::kernel {

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

} // namespace recount::kernel
