// From samples to calls of an overflow callback. Allocates nothing; async-signal-safe but for the callback.
#pragma once

#include <recount/overflow.hpp>

#include <array>
#include <vector>

namespace recount::perf {

inline constexpr std::size_t most_overflow_events = 64; ///< the bits of OverflowCall::events

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
  [[nodiscard]] const std::array<std::uint64_t, most_overflow_events>& told() const noexcept { return told_; }

private:
  void begin(const Sample& sample, bool emulated);

  OverflowCallback callback_;
  OverflowCall call_;
  std::array<Overflowed, most_overflow_events> overflowed_{};
  std::array<std::uint64_t, 64> registers_{}; ///< those of a sample are invalid after the next one
  std::size_t gathered_ = 0;
  bool muted_ = false;
  std::array<std::uint64_t, most_overflow_events> told_{};
};

} // namespace recount::perf
