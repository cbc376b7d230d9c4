// The families of blocks, as data.
#include "kernel/blocks/block_kernel.hpp"

namespace recount::kernel {

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
                                   "call", "alternating", "random"})},
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
