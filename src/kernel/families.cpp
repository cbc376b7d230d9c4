// The families of blocks, as data.
#include "kernel/blocks/block_kernel.hpp"

namespace recount::kernel {

namespace {

constexpr const char* chain_form =
    "1 to 8 a step: each multiplication waits for the last, and nothing else is to do";
constexpr const char* clock_form =
    "as the cycles, by a clock from a quarter of the core's frequency to four times as fast";
constexpr const char* wait_form = "most cycles of a step in which a multiplication is waited for";
constexpr const char* width_form = "1 for each group of instructions that a processor takes at once, 1 to 32";

const std::vector<Family> family_table = {
    {.name = "integer",
     .prose = "executes one integer instruction over and over",
     .choices = {choice_parameter("operation", "the instruction of a step",
                                  {"add", "multiply", "divide", "nop"})},
     .bounds =
         {{"multiply", {"PAPI_TOT_CYC", "PAPI_BRU_IDL", "PAPI_FPU_IDL", "PAPI_LSU_IDL"}, 0.9, 8, chain_form},
          {"multiply", {"PAPI_REF_CYC"}, 0.2, 32, clock_form},
          {"multiply", {"PAPI_STL_ICY", "PAPI_STL_CCY", "PAPI_RES_STL"}, 0.4, 8, wait_form},
          {"nop", {"PAPI_FUL_ICY", "PAPI_FUL_CCY"}, 1.0 / 32, 1.2, width_form}}},
    {.name = "transfer",
     .prose = "loads from and stores to one line",
     .choices = {choice_parameter("operation",
                                  "a step's accesses; update: by one instruction where there is one",
                                  {"load", "store", "copy", "update"})}},
    {.name = "branch",
     .prose = "branches in one pattern, always to where the program goes anyway",
     .choices = {choice_parameter(
         "pattern", "of the branches, one a step (call: two)",
         {"taken", "not-taken", "unconditional", "indirect", "call", "alternating", "random"})},
     .aliases = {{"branch_alternating", "branch_data"}, {"branch_random", "branch_data"}},
     .predicts = true},
    {.name = "float",
     .prose = "executes one floating-point instruction over and over",
     .choices = {choice_parameter("operation", "the instruction of a step",
                                  {"add", "multiply", "divide", "fma", "root", "invert"}),
                 choice_parameter("element", "double, single or half precision", {"f64", "f32", "f16"}),
                 choice_parameter("width", "scalar, or bits of a vector", {"scalar", "128", "256", "512"})},
     .data = Data::ones,
     .bounds = {{"divide_f64_scalar",
                 {"PAPI_FP_STAL"},
                 0.5,
                 64,
                 "some cycles a step: each division waits for the last"}}},
    {.name = "sync",
     .prose = "executes barriers, atomic updates or conditional stores of one line",
     .choices = {choice_parameter("operation",
                                  "of a step; conditional: a store that succeeds, refused: one that cannot",
                                  {"fence", "atomic", "conditional", "refused"})}},
    {.name = "evict",
     .prose = "drives a line out of every cache, then touches it",
     .choices = {choice_parameter("operation", "how it is touched", {"load", "store", "prefetch"})}},
};

} // namespace

std::span<const Family> families() {
  return family_table;
}

} // namespace recount::kernel
