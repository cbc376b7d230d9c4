// Tags that tell in which order events of several traces come, and nothing else.
#pragma once

#include "model/accelerated/set_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace recount::model {

/// Numbers events as they come: those in a row from one trace have the same tag (a trace keeps its events
/// in order by itself), the next from another a later one. A counted event lasts as many turns.
class Order {
public:
  /// `trace` tells the traces apart.
  std::uint32_t number(std::uint64_t trace, std::uint32_t count) {
    if (trace != last_) now_ = end_;
    last_ = trace;
    end_ = std::max(end_, now_ + lasts(count));
    return static_cast<std::uint32_t>(now_);
  }
  /// Whether the numbers are small enough for tags.
  [[nodiscard]] bool fits() const { return end_ <= std::numeric_limits<std::uint32_t>::max(); }
  [[nodiscard]] static bool fits(std::span<const TraceEvent> events) {
    std::uint64_t span = 0;
    for (const TraceEvent& e : events)
      span += lasts(e.count);
    return span <= std::numeric_limits<std::uint32_t>::max();
  }

private:
  static std::uint64_t lasts(std::uint32_t count) {
    return std::uint64_t{count - 1} * TraceTime::turn + (1u << TraceTime::access_shift);
  }
  std::uint64_t last_ = ~std::uint64_t{0}, now_ = 0, end_ = 0;
};

} // namespace recount::model
