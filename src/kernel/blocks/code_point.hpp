// A point of `code`, checked, and what it must count.
#pragma once

#include "kernel/kernel.hpp"

#include <cstdint>
#include <vector>

namespace recount::kernel {

struct CodePoint {
  std::int64_t size = 0, stride = 64, passes = 1; ///< bytes of code, from block to block; times through all
  bool full = false;                              ///< blocks fill their lines
  std::int64_t seed = 1;
  std::int64_t l1i = 0, l2 = 0, l3 = 0; ///< cache capacities for closed forms in bytes, 0: unknown
  [[nodiscard]] std::int64_t blocks() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return blocks() * passes; }
  [[nodiscard]] std::int64_t bytes() const; ///< of memory
};

[[nodiscard]] std::vector<Parameter> code_parameters();
/// Completes and checks. Throws recount::Error (bad_input).
[[nodiscard]] CodePoint code_point(const Kernel& kernel, const result::Params& given);
/// Closed forms, where this architecture has code made for it.
[[nodiscard]] std::vector<Expectation> code_presets(const CodePoint& at);

} // namespace recount::kernel
