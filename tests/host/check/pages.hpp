// A kernel of known counts that needs no PMU: fresh pages, one page fault each.
#pragma once

#include "../witness/faults.hpp"

#include "kernel/point.hpp"

#include <string>
#include <vector>

namespace recount::test {

/// States `n` for every metric that the tests check.
class PagesKernel : public kernel::BasicKernel {
public:
  PagesKernel()
      : BasicKernel("pages", "touches fresh pages",
                    {kernel::number_parameter("n", "pages", 200, 1, 100'000)}) {}
  [[nodiscard]] std::int64_t bytes(const kernel::Params& point) const override { return 4096 * n(point); }
  [[nodiscard]] std::unique_ptr<kernel::Instance> prepare(const kernel::Params& point) const override {
    return std::make_unique<Faults>(static_cast<std::size_t>(n(point)));
  }
  [[nodiscard]] std::vector<kernel::Expectation> expected(const kernel::Params& point) const override {
    std::vector<kernel::Expectation> all;
    for (const char* metric : {"perf::PAGE-FAULTS", "PAPI_TLB_DM", "PAPI_L1_DCM", "PAPI_HW_INT"})
      all.push_back({metric, static_cast<double>(n(point)), 0, 0, "1 per page"});
    return all;
  }

private:
  [[nodiscard]] std::int64_t n(const kernel::Params& point) const {
    return std::get<std::int64_t>(kernel::complete(*this, point).at("n"));
  }
};

inline const kernel::Kernel& pages_kernel() {
  static const PagesKernel kernel;
  return kernel;
}

} // namespace recount::test
