// The parameters that kernels over one array share.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::kernel {

/// A point of `stride` and `chase`, checked.
struct StridedPoint {
  std::int64_t size = 0, stride = 0; ///< bytes
  std::int64_t passes = 0;           ///< over the visited elements
  std::int64_t offset = 0;           ///< of the first element in its page
  Memory::Pages pages = Memory::Pages::small;
  [[nodiscard]] std::int64_t visited() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return visited() * passes; }
};

/// size, stride, rounds, passes, offset, pagesize; `least_stride` in bytes.
[[nodiscard]] std::vector<Parameter> strided_parameters(std::int64_t least_stride);

/// Completes and checks a point. Throws recount::Error (bad_input): a stride over the size, no pass at all,
/// the number of accesses exceeds 64 bits.
[[nodiscard]] StridedPoint strided_point(const Kernel& kernel, const result::Params& given);

/// A number of a complete point.
[[nodiscard]] std::int64_t number(const result::Params& point, const std::string& name);
[[nodiscard]] const std::string& text(const result::Params& point, const std::string& name);

// Base of kernels whose counts are known by closed form only.

/// Name, prose and parameters are data; nothing is replayed under the cache model.
class ClosedFormKernel : public Kernel {
public:
  ClosedFormKernel(std::string name, std::string prose, std::vector<Parameter> parameters)
      : name_(std::move(name)), prose_(std::move(prose)), parameters_(std::move(parameters)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override;
  [[nodiscard]] std::string unsimulated() const override;

private:
  std::string name_, prose_;
  std::vector<Parameter> parameters_;
};

/// A number, a choice and a text as rows of data.
[[nodiscard]] Parameter number_parameter(std::string name, std::string prose, std::int64_t fallback,
                                         std::int64_t least, std::int64_t most,
                                         Parameter::Unit unit = Parameter::Unit::count);
[[nodiscard]] Parameter choice_parameter(std::string name, std::string prose,
                                         std::vector<std::string> choices); ///< the first is the default
[[nodiscard]] Parameter text_parameter(std::string name, std::string prose, std::string fallback);

/// The exact count is between `least` and `most`; the value is their geometric mean.
[[nodiscard]] Expectation between(std::string metric, double least, double most, std::string form);

} // namespace recount::kernel
