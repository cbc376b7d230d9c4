// Access patterns: which places are visited, and in which order.
#pragma once

#include "kernel/params.hpp"
#include "model/hierarchy.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recount::kernel {

/// Places in memory that are visited over and over in one random cycle. Element i lies `stride` bytes after
/// element i - 1 (or in slot slots[i], slots being `stride` bytes long), and (i % wrap) * shift bytes further
/// on. All in bytes from the base unless said otherwise; no two visited places closer than a pointer.
struct Pattern {
  std::int64_t count = 1;           ///< elements; with `slots` their number
  std::int64_t stride = 64;         ///< bytes
  std::int64_t shift = 0, wrap = 1; ///< staggers elements, over cache sets for example
  std::int64_t pair = 0;           ///< not 0: each element is visited twice, the second time this far from it
  bool before = false;             ///< the further place of a pair is visited first
  std::int64_t offset = 0;         ///< of the base in its page, 0 to 4095
  bool huge = false;               ///< huge pages are requested
  std::int64_t seed = 1;           ///< of the order
  std::vector<std::int64_t> slots; ///< empty: 0, 1, 2 ...

  [[nodiscard]] std::int64_t visits() const { return pair == 0 ? count : 2 * count; }
  auto operator<=>(const Pattern&) const = default;
};

/// `count` elements at `stride` only: the pattern of the kernel chase.
[[nodiscard]] Pattern dense(std::int64_t count, std::int64_t stride);
[[nodiscard]] bool is_dense(const Pattern& pattern);

/// The places of one cycle in order, as bytes from the base. Deterministic.
[[nodiscard]] std::vector<std::uint64_t> places(const Pattern& pattern);
/// Bytes from the base to the end of the last visited pointer.
[[nodiscard]] std::int64_t extent(const Pattern& pattern);

/// Makes each place hold a pointer to the next one, the last to the first. Places must lie in the memory.
void link(std::byte* base, std::span<const std::uint64_t> places);

/// Replays `passes` cycles of loads from the places above `base`.
void replay(std::span<const std::uint64_t> places, std::uint64_t base, std::int64_t passes,
            model::Hierarchy& caches);

/// A kernel and its point, as in results.
struct KernelPoint {
  std::string kernel;
  Params params;
};
/// chase for a dense pattern, visit for any other.
[[nodiscard]] KernelPoint to_point(const Pattern& pattern, std::int64_t passes);
/// The pattern of such a point; throws recount::Error (bad_input) when it is none of chase or visit or lacks
/// a parameter. The number of passes is not part of it.
[[nodiscard]] Pattern to_pattern(const std::string& kernel, const Params& params);

} // namespace recount::kernel
