// The caches and TLBs of the simulated machine, warm from one kernel call to the next.
#pragma once

#include "quantity.hpp"

#include "model/hierarchy.hpp"

#include <optional>

namespace pmu {

/// Accesses of the calling thread's kernel calls; work() is what they have made of the caches since the last
/// call of it.
class SimulatedCaches {
public:
  enum class Side { data, code };
  explicit SimulatedCaches(Side side);
  void load(std::uint64_t address, unsigned bytes) { caches_.load(address, bytes); }
  void store(std::uint64_t address, unsigned bytes) { caches_.store(address, bytes); }
  [[nodiscard]] Work work();
  recount::model::Hierarchy& hierarchy() { return caches_; }

  static SimulatedCaches& of_thread(Side side);

private:
  Side side_;
  recount::model::Hierarchy caches_;
};

} // namespace pmu
