// What recount's kernels execute, from their own tallies and from the addresses that they use.
#pragma once

#include "model/emulate/machine.hpp"
#include "model/emulate/preload/sample.hpp"

#include "kernel/blocks/block.hpp"

#include <string>
#include <vector>

namespace recount::emulate {

/// A measured function of recount, as it is called: with a pointer to its arguments.
struct Measured {
  std::string name;                     ///< "recount_kernel_chase"
  void (*own)(void* context) = nullptr; ///< this library's copy
  Work (*work)(const Measured&, const void* context) = nullptr;
  const recount::kernel::native::Block* block = nullptr;
  CodeRange code = {}; ///< in the program
};

/// Every measured function whose work is known.
[[nodiscard]] std::vector<Measured> measured_functions();

/// Code that kernel `code` has written: lines of it in the order of execution, none where it is not such
/// code.
struct WrittenCode {
  std::vector<std::uint64_t> lines; ///< addresses of blocks
  bool full = false;                ///< nops fill each line before its jump
};
[[nodiscard]] WrittenCode follow_jumps(const unsigned char* at, std::size_t bytes);
[[nodiscard]] Work count_work(const WrittenCode& code, std::int64_t passes);

} // namespace recount::emulate
