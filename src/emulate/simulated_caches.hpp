// The caches, TLBs and the branch predictor of the simulated machine.
#pragma once

#include "emulate/machine.hpp"
#include "model/hierarchy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace recount::emulate {

/// Data accesses, or fetches of code; work() is what they have made of the caches since its last call.
class SimulatedCaches {
public:
  enum class Side { data, code };
  SimulatedCaches(const Machine& machine, Side side);
  void load(std::uint64_t address, unsigned bytes) { caches_.load(address, bytes); }
  void store(std::uint64_t address, unsigned bytes) { caches_.store(address, bytes); }
  /// A line of code. One that is fetched again before another one of its set or another page is the most
  /// recently used one in cache and TLB: nothing changes but the number of fetches.
  void fetch(std::uint64_t address) {
    std::uint64_t& last = fetched_[address / line_bytes % fetched_.size()];
    if (last == address && address / page_bytes == page_) {
      ++again_;
      return;
    }
    last = address;
    page_ = address / page_bytes;
    caches_.load(address, 1);
    if (!remembers_) last = none;
  }
  [[nodiscard]] Work work();
  recount::model::Hierarchy& hierarchy() { return caches_; }

  static SimulatedCaches& of_thread(const Machine& machine, Side side);

private:
  static constexpr std::uint64_t line_bytes = 64, page_bytes = 4096, none = ~std::uint64_t{0};
  Side side_;
  std::array<std::uint64_t, 16> fetched_{}; ///< last line by set; several sets share an entry
  std::uint64_t page_ = none;
  std::int64_t again_ = 0;
  bool remembers_; ///< lines of one set have one entry
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
