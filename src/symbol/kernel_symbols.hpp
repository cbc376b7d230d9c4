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
  struct Found {
    std::string_view name, module; ///< module: "" for the kernel itself
    std::uint64_t start = 0, end = 0;
  };
  /// `text`: the contents of /proc/kallsyms.
  explicit KernelSymbols(std::string text);
  /// This kernel's. Reads megabytes: do it only when needed.
  [[nodiscard]] static KernelSymbols here();
  [[nodiscard]] std::optional<Found> find(std::uint64_t address) const;
  /// Why no symbols are known: the kernel hides addresses from this user, with the setting; empty: known.
  [[nodiscard]] const std::string& hidden() const noexcept { return hidden_; }

private:
  struct Entry {
    std::uint64_t start = 0;
    std::uint32_t name = 0, name_size = 0, module = 0, module_size = 0; ///< in text_
  };
  std::string text_, hidden_;
  std::vector<Entry> entries_;
};

} // namespace recount::symbol
