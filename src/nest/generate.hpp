// C code of a loop nest, compiled by the system's C compiler and run.
#pragma once

#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
/// the file is in it. Throws recount::Error (bad_input) as count_work() does.
[[nodiscard]] std::string generate(const Definition& nest, const Types& types);

// Loop nests as machine code: the system's C compiler, and the code that it made.

/// The first of cc, gcc and clang along PATH. Nothing when there is none.
[[nodiscard]] std::optional<std::string> compiler();
/// Options of the compiler that decide about the code.
[[nodiscard]] const std::vector<std::string>& compiler_options();
/// Why nothing can be compiled here, and what mends it; empty: it can.
[[nodiscard]] std::string cannot_compile();

/// A function of generated C code, loaded into this process until it is destroyed.
class CompiledNest {
public:
  /// Compiles in a folder of its own below TMPDIR (else /tmp), which is removed. Throws recount::Error
  /// (unavailable): no compiler, it fails, the folder cannot hold programs.
  explicit CompiledNest(const std::string& code);
  CompiledNest(const CompiledNest&) = delete;
  CompiledNest& operator=(const CompiledNest&) = delete;
  ~CompiledNest();

  using Function = void (*)(void* context);
  [[nodiscard]] Function function() const { return function_; }

private:
  void* library_ = nullptr;
  Function function_ = nullptr;
};

} // namespace recount::nest
