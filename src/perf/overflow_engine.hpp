// The two ways to deliver overflows, behind one interface.
#pragma once

#include <recount/overflow.hpp>

#include <memory>
#include <vector>

namespace recount::perf {

/// Interface of overflow delivery.
class OverflowEngine {
public:
  virtual ~OverflowEngine() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual void set_threshold(std::size_t event, std::uint64_t threshold) = 0;
  virtual std::vector<OverflowCount> counts() = 0;
  virtual std::uint64_t missed() = 0;
};

/// The events of an Overflow by detection method; indices refer to the full list.
struct OverflowPlan {
  std::vector<OverflowEvent> events;
  std::vector<std::size_t> interrupting, emulated;
  OverflowCallback callback;
  OverflowOptions options;
};

/// The timer that polls emulated events: of the thread's processor time, in the kernel too where that is
/// allowed.
[[nodiscard]] SampledEvent overflow_timer(const OverflowPlan& plan);

[[nodiscard]] std::unique_ptr<OverflowEngine> deliver_by_signal(OverflowPlan plan);
[[nodiscard]] std::unique_ptr<OverflowEngine> deliver_by_thread(OverflowPlan plan);

} // namespace recount::perf
