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
  using Unit = Parameter::Unit;
  constexpr std::int64_t most = std::int64_t{1} << 44;
  const auto integer = [](std::int64_t n) { return result::ParamValue{n}; };
  return {
      {"size", "bytes of the array", Unit::bytes, integer(32768), least_stride, most, {}},
      {"stride",
       "bytes from one visited element to the next",
       Unit::bytes,
       integer(64),
       least_stride,
       most,
       {}},
      {"rounds",
       "passes for each byte of stride: every stride makes about rounds x size accesses",
       Unit::count,
       integer(10),
       0,
       most,
       {}},
      {"passes",
       "passes beyond rounds x stride (with rounds 0: all of them)",
       Unit::count,
       integer(0),
       0,
       most,
       {}},
      {"offset", "bytes from a page boundary to the first element", Unit::bytes, integer(0), 0, 4095, {}},
      {"pagesize",
       "page size of the data, requested from the system",
       Unit::choice,
       result::ParamValue{std::string("small")},
       0,
       0,
       {"small", "huge"}},
  };
}

StridedPoint strided_point(const Kernel& kernel, const result::Params& given) {
  const result::Params point = complete(kernel, given);
  StridedPoint at;
  at.size = number(point, "size");
  at.stride = number(point, "stride");
  at.offset = number(point, "offset");
  at.pages = text(point, "pagesize") == "huge" ? Memory::Pages::huge : Memory::Pages::small;
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
