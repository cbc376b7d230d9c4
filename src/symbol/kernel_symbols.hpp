// The kernel's own functions, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::symbol {

/// Immutable; thread-safe.
class KernelSymbols {
public:
  struct Function {
    std::string_view name, module; ///< module: "" for the kernel itself
    std::uint64_t start = 0, end = 0;
  };
  /// `text`: the contents of /proc/kallsyms.
  explicit KernelSymbols(std::string_view text);
  /// Those of the running kernel. Reads megabytes.
  [[nodiscard]] static KernelSymbols here();
  [[nodiscard]] std::optional<Function> find(std::uint64_t address) const;
  /// Why no symbols are known: the kernel hides addresses from this user, with the setting; empty: known.
  [[nodiscard]] const std::string& hidden() const noexcept { return hidden_; }

private:
  std::vector<char> text_; ///< unlike a string, it keeps its address when moved
  std::string hidden_;
  std::vector<Function> functions_; ///< by start
};

} // namespace recount::symbol
