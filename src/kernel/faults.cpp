// `faults`: touches pages that the process does not have. See recount-kernels(7).
#include "kernel/closed_form.hpp"
#include "kernel/kernels.hpp"
#include "kernel/memory.hpp"
#include "kernel/native_system.hpp"
#include "kernel/point.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace recount::kernel {

namespace {

class FaultsInstance : public Instance {
public:
  FaultsInstance(std::int64_t pages, std::int64_t page)
      : memory_(pages * page, 0, Memory::Pages::small, fmt::format("faults --pages {}", pages)),
        context_{reinterpret_cast<std::uint8_t*>(memory_.data()), pages, page} {}
  Region region() override { return {native::recount_kernel_faults, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.pages; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Faults context_;
};

class FaultsKernel : public ClosedFormKernel {
public:
  FaultsKernel()
      : ClosedFormKernel("faults", "touches fresh pages, each of them a page fault",
                         {number_parameter("pages", "touched", 1000, 1, std::int64_t{1} << 32)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return pages(point) * sysconf(_SC_PAGESIZE);
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    return std::make_unique<FaultsInstance>(pages(point), sysconf(_SC_PAGESIZE));
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    const auto n = static_cast<double>(pages(point));
    return {{"perf::PAGE-FAULTS", n, 0, 0, "1 a page"},
            {"perf::MINOR-FAULTS", n, 0, 0, "1 a page: nothing is read from a disk"}};
  }

private:
  [[nodiscard]] std::int64_t pages(const result::Params& point) const {
    return number(complete(*this, point), "pages");
  }
};

} // namespace

const Kernel& faults_kernel() {
  static const FaultsKernel kernel;
  return kernel;
}

} // namespace recount::kernel
