// What kernels need that are built for one kind of processor.
#pragma once

#include <string>

namespace recount::kernel {

/// The instructions that the vectorised kernels were built with: "AVX-512".
[[nodiscard]] std::string vectorised_for();
/// Throws recount::Error (unavailable) where this processor lacks them.
void need_vectors(const std::string& kernel);

/// Why there is no `dgemm` here; empty: there is. Loads the library: call it in a process that may have it.
[[nodiscard]] std::string dgemm_missing();

} // namespace recount::kernel
