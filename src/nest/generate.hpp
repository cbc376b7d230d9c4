// C code of a loop nest.
#pragma once

#include "nest/definition.hpp"

#include "model/nest.hpp"
#include "nest/parse.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace recount::nest {

/// What the generated function is called with.
struct Context {
  std::array<void*, model::nest_arrays> arrays{};
  std::array<std::int64_t, most_parameters> parameters{};
  std::array<std::array<std::int64_t, most_dimensions>, model::nest_arrays> strides{}; ///< elements
};
inline constexpr const char* function_name = "recount_nest";

/// C11 with extensions of GCC that clang has, too. `void recount_nest(void* context)` makes exactly the
/// accesses of the text to the arrays, in order, and its floating-point operations: accesses are volatile,
/// numbers are opaque to the compiler, and an operation without a loaded operand has opaque ones. No name of
/// the file is in it. Throws recount::Error (bad_input) as work_of() does.
[[nodiscard]] std::string generate(const Definition& nest, const Types& types);

} // namespace recount::nest
