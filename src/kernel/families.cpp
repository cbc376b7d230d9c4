// The families of blocks, as data.
#include "kernel/block_kernel.hpp"

namespace recount::kernel {

std::span<const Family> families() {
  static const std::vector<Family> all = {
      {"integer",
       "executes one integer instruction over and over",
       {choice_parameter("operation", "the instruction of a step", {"add", "multiply", "divide", "nop"})},
       Data::line,
       {},
       {{"multiply", {"PAPI_TOT_CYC"}, 1, 8, "1 to 8 a step: each multiplication waits for the last"}}},
      {"transfer",
       "loads from and stores to one line",
       {choice_parameter("operation",
                         "a step's accesses; update: one instruction that does both where there is one",
                         {"load", "store", "copy", "update"})}},
      {"branch",
       "branches in one pattern, always to where the program goes anyway",
       {choice_parameter(
           "pattern", "of the branches of a step",
           {"taken", "not-taken", "unconditional", "indirect", "call", "alternating", "random"})},
       Data::line,
       {{"branch_alternating", "branch_data"}, {"branch_random", "branch_data"}},
       {},
       1000,
       true},
      {"sync",
       "executes barriers or atomic updates of one line",
       {choice_parameter("operation", "of a step", {"fence", "atomic"})}},
  };
  return all;
}

} // namespace recount::kernel
