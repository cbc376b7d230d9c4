// The records of several rings in the order of their times.
#pragma once

#include "perf/sample_open.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace recount::perf {

/// Iterates over the records in the rings at the time of begin(). Records stay in their rings until dropped;
/// nothing is copied. Allocates nothing after construction.
class Merge {
public:
  explicit Merge(const OpenSampling& open) : rings_(open.rings), type_(open.format.sample_type) {
    heap_.reserve(rings_.size());
  }

  void begin(); ///< looks at all rings
  /// The earliest record that is no younger than `horizon`, already dropped from its ring but valid until
  /// the next call; empty when there is none.
  [[nodiscard]] std::span<const std::uint64_t> next(std::uint64_t horizon);
  /// Returns the space of dropped records to the kernel.
  void release() noexcept;

private:
  using Entry = std::pair<std::uint64_t, std::size_t>; ///< time and ring of a ring's first record
  void push(std::size_t ring);

  const std::vector<CpuRing>& rings_;
  std::uint64_t type_;
  std::vector<Entry> heap_;
  std::size_t open_ = none; ///< the ring of the last returned record
  static constexpr std::size_t none = ~std::size_t{0};
};

} // namespace recount::perf
