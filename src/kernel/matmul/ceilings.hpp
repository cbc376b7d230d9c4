// Kernels built for one type of processor.
#pragma once

#include <string>

namespace recount::kernel {

/// The instructions that the vectorised kernels were built with: "AVX-512".
[[nodiscard]] std::string vectorised_for();
/// Throws recount::Error (unavailable) where this processor lacks them.
void need_vectors(const std::string& kernel);

/// Why `dgemm` is unavailable; empty: available. Loads the library: call it in a process that may keep it
/// loaded.
[[nodiscard]] std::string dgemm_missing();

} // namespace recount::kernel
