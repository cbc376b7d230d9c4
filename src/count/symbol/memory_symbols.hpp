// Names of code that no mapped file has symbols for: the kernel, and what is generated at run time.
#pragma once

#include "base/process/views.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::symbol {
/// The functions of one process. Texts are not trusted: invalid lines and records are left out, at most a
/// million functions are kept. Of functions that overlap, the one that was added last counts. Not
/// thread-safe.
class JitSymbols {
public:
  /// A perf map: lines "START SIZE NAME" in hexadecimal (tools/perf/Documentation/jit-interface.txt of
  /// Linux).
  void add_map(std::string_view text);
  /// A jitdump file (tools/perf/Documentation/jitdump-specification.txt): functions that were loaded and
  /// moved. False if it is none, or of another byte order.
  bool add_dump(std::string_view bytes);

  struct Function {
    std::uint64_t end = 0;
    std::string name; ///< demangled
  };
  /// {start, function}; null: none.
  [[nodiscard]] const std::pair<const std::uint64_t, Function>* find(std::uint64_t address) const;
  [[nodiscard]] bool empty() const noexcept { return functions_.empty(); }

private:
  void add(std::uint64_t start, std::uint64_t size, std::string name);
  std::map<std::uint64_t, Function> functions_; ///< by start; disjoint
};

/// The text of the perf map of a process: of its own PID below its own root where they are known, else of
/// `pid` in /tmp. Only a regular file of root, this user or the user of the process is read, and no symbolic
/// link. `missing`: why a file that exists is not read; empty: there is none.
[[nodiscard]] std::string perf_map_text(const process::Views& views, std::uint32_t pid, std::string& missing);

// The kernel's own functions, from /proc/kallsyms.

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
