// The families of blocks, as data.
#include "kernel/block_kernel.hpp"

namespace recount::kernel {

namespace {

constexpr const char* chain =
    "1 to 8 a step: each multiplication waits for the last, and nothing else is to do";

const std::vector<Family> family_table = {
    {.name = "integer",
     .prose = "executes one integer instruction over and over",
     .choices = {choice_parameter("operation", "the instruction of a step",
                                  {"add", "multiply", "divide", "nop"})},
     .bounds = {{"multiply", {"PAPI_TOT_CYC"}, 1, 8, chain}}},
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
     .data = Data::ones},
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
