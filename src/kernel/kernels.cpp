#include "kernel/kernel.hpp"

#include "base/nearest.hpp"
#include "kernel/blocks/block_kernel.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>

// The kernels by name, and points completed with defaults.
namespace recount::kernel {

namespace {

std::string option(const Kernel& kernel, const std::string& name) {
  return kernel.name() + " --" + name;
}

void check_number(const Kernel& kernel, const Parameter& parameter, const ParamValue& value) {
  const std::string subject = option(kernel, parameter.name);
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr)
    throw bad_input(subject, fmt::format("\"{}\" is not a number", std::get<std::string>(value)));
  if (*number < parameter.least)
    throw bad_input(subject, fmt::format("{} is below the minimum, {}", *number, parameter.least));
  if (parameter.most != 0 && *number > parameter.most)
    throw bad_input(subject, fmt::format("{} is above the maximum, {}", *number, parameter.most));
}

void check_text(const Kernel& kernel, const Parameter& parameter, const ParamValue& value) {
  if (!std::holds_alternative<std::string>(value))
    throw bad_input(option(kernel, parameter.name), "must be text, not a number");
}

void check_choice(const Kernel& kernel, const Parameter& parameter, const ParamValue& value) {
  const auto* const word = std::get_if<std::string>(&value);
  const std::string given = word != nullptr ? *word : std::to_string(std::get<std::int64_t>(value));
  if (word == nullptr || std::ranges::find(parameter.choices, *word) == parameter.choices.end())
    throw bad_input(option(kernel, parameter.name), fmt::format("\"{}\" is not one of its values", given),
                    base::did_you_mean_or_all(given, parameter.choices));
}

} // namespace

std::uint64_t array_base(const model::Hierarchy& caches) {
  return model::array_base(caches.machine().placement, assumed_base, 0);
}

std::int64_t Kernel::simulate_warm(const Params& point, model::Hierarchy& caches) const {
  caches.progress.part(0, 0.5);
  simulate(point, caches);
  caches.reset_counters();
  caches.progress.part(0.5, 1);
  return simulate(point, caches);
}

std::span<const Kernel* const> all() {
  static const std::vector<BlockKernel> of_blocks(families().begin(), families().end());
  static const std::vector<const Kernel*> kernels = [] {
    std::vector<const Kernel*> list = {&stride_kernel(),
                                       &chase_kernel(),
                                       &visit_kernel(),
                                       &matmul_kernel(),
                                       &matmul_vectorised_kernel(),
                                       &dgemm_kernel(),
                                       &peak_kernel(),
                                       &bandwidth_kernel(),
                                       &external_kernel()};
    for (const BlockKernel& kernel : of_blocks)
      list.push_back(&kernel);
    for (const Kernel* kernel : {&scatter_kernel(), &code_kernel(), &cell_kernel()})
      list.push_back(kernel);
    for (const Kernel* kernel : provoked_kernels())
      list.push_back(kernel);
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

Params complete(const Kernel& kernel, const Params& given) {
  Params point;
  std::vector<std::string> known;
  for (const Parameter& parameter : kernel.parameters()) {
    known.push_back(parameter.name);
    const auto found = given.find(parameter.name);
    const ParamValue& value = found == given.end() ? parameter.fallback : found->second;
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

// The families of blocks, as data.

namespace {

constexpr const char* chain_form = "1 to 8 per step: a chain of dependent multiplications";
constexpr const char* clock_form = "cycles of a clock at 1/4 to 4 times the core frequency";
constexpr const char* wait_form = "most cycles per step, in which a multiplication is in progress";
constexpr const char* width_form = "1 per group of instructions issued together, 1 to 32";
constexpr const char* busy_form = "at most 1 per 10 steps: no step waits for another";
constexpr const char* chained_form = "at most 3 per 10 steps: each step waits for the one before";
constexpr const char* elsewhere_form = "at most 2 per 100 steps: no memory access, no floating point";

const std::vector<Family> family_table = {
    {.name = "integer",
     .prose = "repeats one integer instruction",
     .choices = {choice_parameter("operation", "instruction per step", {"add", "multiply", "divide", "nop"})},
     .bounds =
         {{"multiply", {"PAPI_TOT_CYC", "PAPI_BRU_IDL", "PAPI_FPU_IDL", "PAPI_LSU_IDL"}, 0.9, 8, chain_form},
          {"multiply", {"PAPI_REF_CYC"}, 0.2, 32, clock_form},
          {"multiply", {"PAPI_STL_ICY", "PAPI_STL_CCY", "PAPI_RES_STL"}, 0.4, 8, wait_form},
          {"multiply", {"PAPI_FUL_ICY", "PAPI_FUL_CCY"}, 0, 0.3, chained_form},
          {"multiply",
           {"PAPI_MEM_SCY", "PAPI_MEM_RCY", "PAPI_MEM_WCY", "PAPI_FP_STAL"},
           0,
           0.02,
           elsewhere_form},
          {"nop", {"PAPI_STL_ICY", "PAPI_STL_CCY", "PAPI_RES_STL"}, 0, 0.1, busy_form},
          {"nop", {"PAPI_FUL_ICY", "PAPI_FUL_CCY"}, 1.0 / 32, 1.2, width_form}}},
    {.name = "transfer",
     .prose = "loads from and stores to one line",
     .choices = {choice_parameter("operation", "accesses per step; update: one instruction where available",
                                  {"load", "store", "copy", "update"})}},
    {.name = "branch",
     .prose = "executes branches in one pattern; each target is the next instruction",
     .choices = {choice_parameter("pattern", "branch pattern, one branch per step (call: two)",
                                  {"taken", "not-taken", "unconditional", "indirect", "indirect-random",
                                   "call", "alternating", "random", "biased", "system-call"})},
     .aliases = {{"branch_alternating", "branch_data"},
                 {"branch_random", "branch_data"},
                 {"branch_indirect_random", "branch_indirect_data"}}},
    {.name = "float",
     .prose = "repeats one floating-point instruction",
     .choices = {choice_parameter("operation", "instruction per step",
                                  {"add", "multiply", "divide", "fma", "root", "invert"}),
                 choice_parameter("element", "double, single or half precision", {"f64", "f32", "f16"}),
                 choice_parameter("width", "scalar, or vector width in bits",
                                  {"scalar", "128", "256", "512"})},
     .data = Data::ones,
     .bounds = {{"divide_f64_scalar",
                 {"PAPI_FP_STAL"},
                 0.5,
                 64,
                 "several cycles per step: a chain of dependent divisions"}}},
    {.name = "sync",
     .prose = "executes barriers, atomic updates or conditional stores on one line",
     .choices = {choice_parameter(
         "operation", "operation per step; conditional: store that succeeds; refused: store that fails",
         {"fence", "atomic", "conditional", "refused"})}},
    {.name = "evict",
     .prose = "flushes a line from all caches, then accesses it",
     .choices = {choice_parameter("operation", "type of access", {"load", "store", "prefetch"})}},
};

} // namespace

std::span<const Family> families() {
  return family_table;
}

} // namespace recount::kernel
