#include "kernel/point.hpp"

#include "recount/error.hpp"

#include <fmt/format.h>

#include <cmath>

namespace recount::kernel {

std::int64_t number(const result::Params& point, const std::string& name) {
  return std::get<std::int64_t>(point.at(name));
}

const std::string& text(const result::Params& point, const std::string& name) {
  return std::get<std::string>(point.at(name));
}

std::vector<Parameter> strided_parameters(std::int64_t least_stride) {
  constexpr auto bytes = Parameter::Unit::bytes;
  constexpr std::int64_t most = std::int64_t{1} << 44;
  return {
      number_parameter("size", "bytes of the array", 32768, least_stride, most, bytes),
      number_parameter("stride", "bytes from one visited element to the next", 64, least_stride, most, bytes),
      number_parameter("rounds",
                       "passes for each byte of stride: every stride makes about rounds x size accesses", 10,
                       0, most),
      number_parameter("passes", "passes beyond rounds x stride (with rounds 0: all of them)", 0, 0, most),
      number_parameter("offset", "bytes from a page boundary to the first element", 0, 0, 4095, bytes),
      pages_parameter()};
}

StridedPoint strided_point(const Kernel& kernel, const result::Params& given) {
  const result::Params point = complete(kernel, given);
  StridedPoint at;
  at.size = number(point, "size");
  at.stride = number(point, "stride");
  at.offset = number(point, "offset");
  at.pages = pages(point);
  const std::int64_t rounds = number(point, "rounds"), further = number(point, "passes");
  if (at.stride > at.size)
    throw bad_input(kernel.name() + " --stride", fmt::format("{} exceeds the size, {}", at.stride, at.size),
                    "a stride of at most size / 2 visits more than one element");
  std::int64_t total = 0;
  if (__builtin_mul_overflow(rounds, at.stride, &at.passes) ||
      __builtin_add_overflow(at.passes, further, &at.passes) ||
      __builtin_mul_overflow(at.passes, at.visited(), &total))
    throw bad_input(kernel.name() + " --rounds", "the number of accesses exceeds 64 bits");
  if (at.passes == 0)
    throw bad_input(kernel.name() + " --passes", "no pass at all: rounds and passes are both 0");
  return at;
}

std::string BasicKernel::unsimulated() const {
  return "the counts of " + name_ + " are closed forms";
}

std::int64_t BasicKernel::simulate(const result::Params&, model::Hierarchy&) const {
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
  return {std::move(name), std::move(prose), Parameter::Unit::text, std::move(fallback), 0, 0, {}};
}

Parameter pages_parameter() {
  return choice_parameter("pagesize", "page size of the data, requested from the system", {"small", "huge"});
}

Memory::Pages pages(const result::Params& point) {
  return text(point, "pagesize") == "huge" ? Memory::Pages::huge : Memory::Pages::small;
}

void expect(std::vector<Expectation>& all, std::initializer_list<const char*> metrics, Expectation each) {
  for (const char* metric : metrics) {
    each.metric = metric;
    all.push_back(each);
  }
}

Expectation between(std::string metric, double least, double most, std::string form) {
  const double middle = std::sqrt(least * most);
  return {std::move(metric), middle, middle - least, most - middle, std::move(form)};
}

} // namespace recount::kernel
