// A loop nest compiled, and its arrays in memory.
#pragma once

#include "kernel/kernel.hpp"
#include "nest/point.hpp"

#include <memory>

namespace recount::kernel {

/// Arrays hold small whole numbers from 1 on. Throws recount::Error: bad_input for more memory than is
/// available, unavailable where nothing can be compiled.
[[nodiscard]] std::unique_ptr<Instance> nest_instance(const nest::Point& point, bool huge_pages);

} // namespace recount::kernel
