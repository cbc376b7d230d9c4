// Base of kernels whose counts are known by closed form only.
#pragma once

#include "kernel/kernel.hpp"

#include <string>
#include <vector>

namespace recount::kernel {

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
