// Kernels that provoke an action of the operating system or of another CPU n times.
#pragma once

#include "kernel/closed_form.hpp"

#include <memory>
#include <string>
#include <vector>

namespace recount::kernel {

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

class ProvokedKernel : public ClosedFormKernel {
public:
  explicit ProvokedKernel(const Provoked& row);
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override;
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override;
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override;
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override;
  [[nodiscard]] std::string unsimulated() const override;

private:
  [[nodiscard]] std::int64_t times(const result::Params& point) const;
  Provoked row_;
};

/// One file each.
[[nodiscard]] Provoked faults();
[[nodiscard]] Provoked switches();
[[nodiscard]] Provoked ticks();
[[nodiscard]] Provoked migrations();
[[nodiscard]] Provoked interrupts();
[[nodiscard]] Provoked shootdowns();
[[nodiscard]] Provoked sharing();

} // namespace recount::kernel
