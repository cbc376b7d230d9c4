#pragma once

#include "model/emulate/machine.hpp"

#include <string>

namespace recount::emulate {

/// What a call of a function of kernel `matmul` executes, by its name without "recount_kernel_matmul_".
[[nodiscard]] Work matmul_work(const std::string& name, const void* context);

} // namespace recount::emulate
