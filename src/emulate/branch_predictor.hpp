// A predictor of branches, to be explained in one sentence each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace recount::emulate {

/// Conditional branches: 2^14 saturating counters of two bits, selected by the address exclusive or the
/// directions of the last 14 branches (gshare; McFarling, WRL TN-36, 1993). Indirect jumps and calls: 512
/// last targets, selected by the address. Returns are always predicted.
class BranchPredictor {
public:
  BranchPredictor() { counters_.fill(weakly_taken); }
  /// Whether it was predicted wrongly.
  bool conditional(std::uint64_t address, bool taken) {
    std::uint8_t& counter = counters_[(address ^ history_) % entries];
    const bool wrong = (counter >= weakly_taken) != taken;
    if (taken && counter < most) ++counter;
    if (!taken && counter > 0) --counter;
    history_ = history_ << 1 | (taken ? 1U : 0U);
    return wrong;
  }
  bool indirect(std::uint64_t address, std::uint64_t target) {
    std::uint64_t& last = targets_[address % targets_.size()];
    const bool wrong = last != target;
    last = target;
    return wrong;
  }

private:
  static constexpr std::size_t entries = std::size_t{1} << 14;
  static constexpr std::uint8_t weakly_taken = 2, most = 3;
  std::array<std::uint8_t, entries> counters_{};
  std::array<std::uint64_t, 512> targets_{};
  std::uint64_t history_ = 0;
};

} // namespace recount::emulate
