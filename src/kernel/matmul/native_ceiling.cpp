#include "kernel/matmul/native_matmul.hpp"

namespace recount::kernel::native {

void recount_kernel_peak_scalar(void* context) {
  auto& at = *static_cast<Ceiling*>(context);
  double sum[peak_chains];
  for (int i = 0; i < peak_chains; ++i)
    sum[i] = at.results[i];
  const double factor = at.factor, term = at.term;
  for (std::int64_t turn = 0; turn < at.turns; ++turn)
#pragma GCC unroll 12
    for (int i = 0; i < peak_chains; ++i)
      sum[i] = sum[i] * factor + term;
  for (int i = 0; i < peak_chains; ++i)
    at.results[i] = sum[i];
}

} // namespace recount::kernel::native
