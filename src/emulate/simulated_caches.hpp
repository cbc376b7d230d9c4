// The caches and TLBs of the simulated machine, warm from one call to the next.
#pragma once

#include "emulate/machine.hpp"
#include "emulate/quantity.hpp"

#include "model/hierarchy.hpp"

#include <optional>

namespace recount::emulate {

/// Data accesses, or fetches of code; work() is what they have made of the caches since its last call.
class SimulatedCaches {
public:
  enum class Side { data, code };
  SimulatedCaches(const Machine& machine, Side side);
  void load(std::uint64_t address, unsigned bytes) { caches_.load(address, bytes); }
  void store(std::uint64_t address, unsigned bytes) { caches_.store(address, bytes); }
  [[nodiscard]] Work work();
  recount::model::Hierarchy& hierarchy() { return caches_; }

  static SimulatedCaches& of_thread(const Machine& machine, Side side);

private:
  Side side_;
  recount::model::Hierarchy caches_;
};

} // namespace recount::emulate
