// `ticks`: waits for the time stamp counter. See recount-kernels(7).
#include "kernel/provoked.hpp"
#include "kernel/system/native_system.hpp"

namespace recount::kernel {

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

} // namespace recount::kernel
