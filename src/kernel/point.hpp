// The parameters that kernels over one array share.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::kernel {

/// A point of `stride` and `chase`, checked.
struct StridedPoint {
  std::int64_t size = 0, stride = 0; ///< bytes
  std::int64_t passes = 0;           ///< over the visited elements
  std::int64_t offset = 0;           ///< of the first element in its page
  Memory::Pages pages = Memory::Pages::small;
  [[nodiscard]] std::int64_t visited() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return visited() * passes; }
};

/// size, stride, rounds, passes, offset, pagesize; `least_stride` in bytes.
[[nodiscard]] std::vector<Parameter> strided_parameters(std::int64_t least_stride);

/// Completes and checks a point. Throws recount::Error (bad_input): a stride over the size, no pass at all,
/// the number of accesses exceeds 64 bits.
[[nodiscard]] StridedPoint strided_point(const Kernel& kernel, const result::Params& given);

/// A number of a complete point.
[[nodiscard]] std::int64_t number(const result::Params& point, const std::string& name);
[[nodiscard]] const std::string& text(const result::Params& point, const std::string& name);

} // namespace recount::kernel
