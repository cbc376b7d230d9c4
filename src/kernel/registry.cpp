// The kernels by name, and points completed with defaults.
#include "base/nearest.hpp"
#include "kernel/blocks/block_kernel.hpp"
#include "kernel/kernels.hpp"
#include "kernel/provoked.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::kernel {

namespace {

std::string option(const Kernel& kernel, const std::string& name) {
  return kernel.name() + " --" + name;
}

void check_number(const Kernel& kernel, const Parameter& parameter, const result::ParamValue& value) {
  const std::string subject = option(kernel, parameter.name);
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr)
    throw bad_input(subject, fmt::format("\"{}\" is not a number", std::get<std::string>(value)));
  if (*number < parameter.least)
    throw bad_input(subject, fmt::format("{} is below the minimum, {}", *number, parameter.least));
  if (parameter.most != 0 && *number > parameter.most)
    throw bad_input(subject, fmt::format("{} is above the maximum, {}", *number, parameter.most));
}

void check_text(const Kernel& kernel, const Parameter& parameter, const result::ParamValue& value) {
  if (!std::holds_alternative<std::string>(value))
    throw bad_input(option(kernel, parameter.name), "must be text, not a number");
}

void check_choice(const Kernel& kernel, const Parameter& parameter, const result::ParamValue& value) {
  const auto* const word = std::get_if<std::string>(&value);
  const std::string given = word != nullptr ? *word : std::to_string(std::get<std::int64_t>(value));
  if (word == nullptr || std::ranges::find(parameter.choices, *word) == parameter.choices.end())
    throw bad_input(option(kernel, parameter.name), fmt::format("\"{}\" is not one of its values", given),
                    base::did_you_mean_or_all(given, parameter.choices));
}

} // namespace

std::span<const Kernel* const> all() {
  static const std::vector<BlockKernel> of_blocks(families().begin(), families().end());
  static const ProvokedKernel provoked[] = {ProvokedKernel(faults()),     ProvokedKernel(switches()),
                                            ProvokedKernel(ticks()),      ProvokedKernel(migrations()),
                                            ProvokedKernel(interrupts()), ProvokedKernel(shootdowns()),
                                            ProvokedKernel(sharing())};
  static const std::vector<const Kernel*> kernels = [] {
    std::vector<const Kernel*> list = {
        &stride_kernel(), &chase_kernel(), &visit_kernel(), &matmul_kernel(),    &matmul_vectorised_kernel(),
        &nest_kernel(),   &dgemm_kernel(), &peak_kernel(),  &bandwidth_kernel(), &external_kernel()};
    for (const BlockKernel& kernel : of_blocks)
      list.push_back(&kernel);
    for (const Kernel* kernel : {&scatter_kernel(), &code_kernel(), &cell_kernel()})
      list.push_back(kernel);
    for (const ProvokedKernel& kernel : provoked)
      list.push_back(&kernel);
    return list;
  }();
  return kernels;
}

const Kernel& find(std::string_view name) {
  std::vector<std::string> known;
  for (const Kernel* kernel : all()) {
    if (kernel->name() == name) return *kernel;
    known.push_back(kernel->name());
  }
  throw bad_input(std::string(name), "no such kernel", base::did_you_mean_or_all(name, known));
}

const Kernel& find_configured(std::string_view name, const result::Params& point) {
  return find(name).configured(point);
}

result::Params complete(const Kernel& kernel, const result::Params& given) {
  result::Params point;
  std::vector<std::string> known;
  for (const Parameter& parameter : kernel.parameters()) {
    known.push_back(parameter.name);
    const auto found = given.find(parameter.name);
    const result::ParamValue& value = found == given.end() ? parameter.fallback : found->second;
    if (parameter.unit == Parameter::Unit::choice)
      check_choice(kernel, parameter, value);
    else if (parameter.unit == Parameter::Unit::text)
      check_text(kernel, parameter, value);
    else
      check_number(kernel, parameter, value);
    point.emplace(parameter.name, value);
  }
  for (const auto& [name, value] : given)
    if (!point.contains(name))
      throw bad_input(option(kernel, name), "no such parameter", base::did_you_mean_or_all(name, known));
  return point;
}

} // namespace recount::kernel
