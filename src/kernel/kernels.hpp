// All kernels, in the order of the registry.
#pragma once

#include "kernel/kernel.hpp"

namespace recount::kernel {

[[nodiscard]] const Kernel& stride_kernel();
[[nodiscard]] const Kernel& chase_kernel();
[[nodiscard]] const Kernel& visit_kernel();
[[nodiscard]] const Kernel& matmul_kernel();
[[nodiscard]] const Kernel& matmul_vectorised_kernel();
[[nodiscard]] const Kernel& dgemm_kernel();
[[nodiscard]] const Kernel& peak_kernel();
[[nodiscard]] const Kernel& bandwidth_kernel();
[[nodiscard]] const Kernel& external_kernel();
[[nodiscard]] const Kernel& nest_kernel();
[[nodiscard]] const Kernel& cell_kernel();
[[nodiscard]] const Kernel& scatter_kernel();
[[nodiscard]] const Kernel& code_kernel();

} // namespace recount::kernel
