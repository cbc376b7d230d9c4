// The two ways to deliver overflows, and what they share: from samples to calls of the callback.
#pragma once

#include "count/perf/owner.hpp"

#include <recount/overflow.hpp>

#include <array>
#include <memory>
#include <vector>

namespace recount::perf {

// The user-mode program counter at an interrupt.
#if defined(__x86_64__)
inline constexpr std::uint64_t pc_register = std::uint64_t{1} << 8; ///< PERF_REG_X86_IP in asm/perf_regs.h
inline std::uint64_t program_counter(const ucontext_t& context) {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}
#elif defined(__aarch64__)
inline constexpr std::uint64_t pc_register = std::uint64_t{1} << 32; ///< PERF_REG_ARM64_PC
inline std::uint64_t program_counter(const ucontext_t& context) {
  return context.uc_mcontext.pc;
}
#endif

inline constexpr std::size_t max_overflow_events = 64; ///< the bits of OverflowCall::events

/// Thresholds passed by a polled event. Pure.
class Ticks {
public:
  explicit Ticks(std::uint64_t threshold = 1) : threshold_(threshold) {}
  /// Thresholds passed since the last call, and the excess; times 0: none. A decreased count restarts.
  [[nodiscard]] Overflowed at(std::uint64_t count) noexcept;
  /// Sets a new threshold, starting now.
  void change(std::uint64_t threshold, std::uint64_t count) noexcept;

private:
  std::uint64_t threshold_, base_ = 0;
};

/// Collects the samples of one call: samples of different events that follow one another at one place of one
/// thread are one overflow of several events.
class OverflowCalls {
public:
  explicit OverflowCalls(OverflowCallback callback) : callback_(std::move(callback)) {}

  /// One overflow of an event; makes the call for what was gathered before when this does not belong to it.
  void add(std::size_t event, const Sample& sample);
  /// Thresholds of an emulated event, seen by the sample of a timer.
  void add(const Overflowed& emulated, const Sample& timer);
  /// Makes the pending call, if any.
  void flush();
  /// From now on calls are dropped, or made again.
  void mute(bool on) noexcept { muted_ = on; }

  void set_context(ucontext_t* context) noexcept { call_.context = context; }
  /// Reported thresholds per event.
  [[nodiscard]] const std::array<std::uint64_t, max_overflow_events>& reported() const noexcept {
    return reported_;
  }

private:
  void begin(const Sample& sample, bool emulated);

  OverflowCallback callback_;
  OverflowCall call_;
  std::array<Overflowed, max_overflow_events> overflowed_{};
  std::size_t gathered_ = 0;
  bool muted_ = false;
  std::array<std::uint64_t, max_overflow_events> reported_{};
};

/// The events of an Overflow by detection method; indices refer to the full list.
struct OverflowPlan {
  std::vector<OverflowEvent> events;
  std::vector<std::size_t> interrupting, emulated;
  OverflowCallback callback;
  OverflowOptions options;
};

/// Delivers overflows, by a signal or by a thread.
class OverflowEngine {
public:
  explicit OverflowEngine(OverflowPlan plan) : plan_(std::move(plan)), calls_(plan_.callback) {}
  OverflowEngine(const OverflowEngine&) = delete;
  OverflowEngine& operator=(const OverflowEngine&) = delete;
  virtual ~OverflowEngine() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual void set_threshold(std::size_t event, std::uint64_t threshold) = 0;
  virtual std::vector<OverflowCount> counts() = 0;
  virtual std::uint64_t missed() = 0;
  [[nodiscard]] const OverflowPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const Owner& owner() const noexcept { return owner_; }

protected:
  OverflowPlan plan_;
  OverflowCalls calls_;
  Owner owner_;
};

} // namespace recount::perf
