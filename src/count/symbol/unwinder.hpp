// Call chains from sampled registers and stacks, by the call frame information (DWARF CFI) of programs and
// libraries: also of code without frame pointers.
#pragma once

#include "base/process/fd.hpp"
#include "count/symbol/module.hpp"
#include "count/symbol/spaces.hpp"

#include <recount/sampling.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace recount::symbol {

/// Not thread-safe. Memory: the frame information of the files of up to 32 processes.
class Unwinder {
public:
  /// A file of Spaces::files(), and what it is; no module: it cannot be read, or was replaced.
  struct Opened {
    process::Fd fd;
    std::unique_ptr<Module> module;
  };
  using OpenFile = std::function<Opened(std::uint32_t file)>;

  /// The registers that samples need, by their bits in asm/perf_regs.h; 0: chains cannot be found in this
  /// build or on this architecture.
  [[nodiscard]] static std::uint64_t registers();

  /// `mask`: the registers of the samples, with registers() among them.
  Unwinder(std::uint64_t mask, const Spaces& spaces, OpenFile open);
  Unwinder(Unwinder&&) noexcept;
  ~Unwinder();

  struct Chain {
    std::span<const std::uint64_t> addresses; ///< of user mode, innermost first; valid until the next call
    bool whole = false;                       ///< up to the outermost function
  };
  /// At most `frames` frames. The innermost is where user mode was left.
  [[nodiscard]] Chain unwind(const Sample& sample, std::size_t frames);
  /// Forgets what a process had mapped, when it executes a program or ends.
  void forget(std::uint32_t pid);

  struct State; ///< for unwinder.cpp

private:
  std::unique_ptr<State> state_;
};

} // namespace recount::symbol
