// The caches and TLBs of the simulated machine, warm from one call to the next.
#pragma once

#include "emulate/machine.hpp"
#include "emulate/quantity.hpp"

#include "model/hierarchy.hpp"

#include <array>
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

} // namespace recount::emulate
