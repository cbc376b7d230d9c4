// A second thread on its own CPU, for kernels that need one.
#pragma once

#include <atomic>
#include <thread>

namespace recount::kernel {

/// While `awake` is 1 the helper calls `play(context)` over and over; else it sleeps and looks again every 50
/// microseconds, so that it does not disturb other code between regions, and a region wakes it with a store.
class Helper {
public:
  /// Starts it on `cpu`, on which this process must be allowed to run.
  Helper(int cpu, void (*play)(void* context), void* context);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();

  [[nodiscard]] volatile int* awake() { return &awake_; }
  /// 1 from when the helper has seen that it is awake until it has seen that it is not.
  [[nodiscard]] const volatile int* busy() const { return &busy_; }

private:
  alignas(128) volatile int awake_ = 0; // on its own cache line
  alignas(128) volatile int busy_ = 0;
  alignas(128) std::atomic<bool> ends_ = false;
  std::thread thread_;
};

} // namespace recount::kernel
