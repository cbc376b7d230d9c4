// The caches, TLBs and the branch predictor of the simulated machine.
#pragma once

#include "model/emulate/machine.hpp"
#include "model/hierarchy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace recount::emulate {

/// Data accesses, or fetches of code; work() is what they have made of the caches since its last call.
class SimulatedCaches {
public:
  enum class Side { data, code };
  SimulatedCaches(const SimulatedMachine& machine, Side side);
  void load(std::uint64_t address, unsigned bytes) { caches_.load(address, bytes); }
  void store(std::uint64_t address, unsigned bytes) { caches_.store(address, bytes); }
  /// A line of code.
  void fetch(std::uint64_t address) { caches_.load(address, 1); }
  void flush(std::uint64_t address) { caches_.flush(address); }
  void prefetch(std::uint64_t address) { caches_.prefetch(address); }
  [[nodiscard]] Work work();
  recount::model::Hierarchy& hierarchy() { return caches_; }

  static SimulatedCaches& of_thread(const SimulatedMachine& machine, Side side);

private:
  Side side_;
  recount::model::Hierarchy caches_;
};

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
