// Loop nests as machine code: the system's C compiler, and the code that it made.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace recount::nest {

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
