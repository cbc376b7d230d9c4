#include "kernel/closed_form.hpp"

#include "recount/error.hpp"

#include <cmath>

namespace recount::kernel {

std::string ClosedFormKernel::unsimulated() const {
  return "the counts of " + name_ + " are closed forms";
}

std::int64_t ClosedFormKernel::simulate(const result::Params&, model::Hierarchy&) const {
  throw unavailable(name_, unsimulated() + "; it has no accesses to replay in a cache");
}

Parameter number_parameter(std::string name, std::string prose, std::int64_t fallback, std::int64_t least,
                           std::int64_t most, Parameter::Unit unit) {
  return {std::move(name), std::move(prose), unit, result::ParamValue{fallback}, least, most, {}};
}

Parameter choice_parameter(std::string name, std::string prose, std::vector<std::string> choices) {
  const result::ParamValue first{choices.front()};
  return {std::move(name), std::move(prose), Parameter::Unit::choice, first, 0, 0, std::move(choices)};
}

Parameter text_parameter(std::string name, std::string prose, std::string fallback) {
  return {std::move(name),
          std::move(prose),
          Parameter::Unit::text,
          result::ParamValue{std::move(fallback)},
          0,
          0,
          {}};
}

Expectation between(std::string metric, double least, double most, std::string form) {
  const double middle = std::sqrt(least * most);
  return {std::move(metric), middle, middle - least, most - middle, std::move(form)};
}

} // namespace recount::kernel
