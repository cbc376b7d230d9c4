// From samples to calls of an overflow callback. Allocates nothing; async-signal-safe but for the callback.
#pragma once

#include <recount/overflow.hpp>

#include <array>
#include <vector>

namespace recount::perf {

inline constexpr std::size_t most_overflow_events = 64; ///< the bits of OverflowCall::events

/// Thresholds passed by an event that somebody looks at now and then. Pure.
class Ticks {
public:
  explicit Ticks(std::uint64_t threshold = 1) : threshold_(threshold) {}
  /// How many thresholds were passed since the last time, and what is beyond; times 0: none. A count that
  /// went back starts anew.
  [[nodiscard]] Overflowed at(std::uint64_t count) noexcept;
  /// Another threshold, counted from here.
  void change(std::uint64_t threshold, std::uint64_t count) noexcept;

private:
  std::uint64_t threshold_, base_ = 0;
};

/// Gathers what belongs to one call: samples of different events that follow one another at one place of one
/// thread are one overflow of several events.
class OverflowCalls {
public:
  explicit OverflowCalls(OverflowCallback callback) : callback_(std::move(callback)) {}

  /// One overflow of an event; makes the call for what was gathered before when this does not belong to it.
  void add(std::size_t event, const Sample& sample);
  /// Thresholds of an emulated event, seen by the sample of a timer.
  void add(const Overflowed& emulated, const Sample& timer);
  /// Makes the call for what is gathered, if anything.
  void flush();

  void set_context(ucontext_t* context) noexcept { call_.context = context; }
  /// How many thresholds of each event were told.
  [[nodiscard]] const std::array<std::uint64_t, most_overflow_events>& told() const noexcept { return told_; }

private:
  void begin(const Sample& sample, bool emulated);

  OverflowCallback callback_;
  OverflowCall call_;
  std::array<Overflowed, most_overflow_events> overflowed_{};
  std::array<std::uint64_t, 64> registers_{}; ///< a sample's are gone when the next one comes
  std::size_t gathered_ = 0;
  std::array<std::uint64_t, most_overflow_events> told_{};
};

} // namespace recount::perf
