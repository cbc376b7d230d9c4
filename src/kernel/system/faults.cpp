// `faults`: touches pages that the process does not have. See recount-kernels(7).
#include "kernel/memory.hpp"
#include "kernel/provoked.hpp"
#include "kernel/system/native_system.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace recount::kernel {

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

} // namespace recount::kernel
