// Simple calls, for people who only want a number: counters, rates, IPC, FLOP rate.
#pragma once

#include <recount/group.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Everything here counts the calling thread through perf_event_open(2); no PAPI is needed. Objects belong to
/// one thread. What cannot be counted is an empty optional with a reason, never 0.
namespace recount::simple {

/// How many events count at once here, without sharing a counter in turns.
struct CounterCount {
  std::optional<int> value; ///< general-purpose hardware counters; nothing when there is no core PMU
  Reason reason;            ///< why there is no value
};
/// Found by trial: opens one hardware event again and again in one group until Linux refuses, so it sees what
/// is free now (the NMI watchdog and other users hold some back). Costs some system calls: keep the result.
[[nodiscard]] CounterCount counters();

/// What one event did over an interval.
struct Value {
  std::string event;                  ///< the name as given
  std::optional<std::uint64_t> count; ///< exact when `share` is 1, else scaled up from the share counted
  double share = 0; ///< of the interval counted: 1, less when multiplexed, 0 when not at all
  Reason reason;    ///< why there is no count
};

/// An interval: its times and its counts.
struct Reading {
  double real_seconds = 0;      ///< wall time, CLOCK_MONOTONIC
  double processor_seconds = 0; ///< of the calling thread, CLOCK_THREAD_CPUTIME_ID
  std::vector<Value> values;    ///< in the order of the events

  /// The value of an event; Error (bad_input) when it is not among them.
  [[nodiscard]] const Value& operator[](const std::string& event) const;
  /// Events per second of wall time; nothing when not counted or when no time passed.
  [[nodiscard]] std::optional<double> rate(const std::string& event) const;
  /// Events per second of processor time.
  [[nodiscard]] std::optional<double> processor_rate(const std::string& event) const;
  /// Adds another interval to this one (of the same events; Error otherwise). The first into an empty one
  /// is copied. An event that was not counted in either is not counted in the sum.
  Reading& operator+=(const Reading& other);
};

/// Counts from its construction on. Events that cannot be counted here do not throw: their values carry the
/// reason. A name nobody knows throws Error (bad_input).
///
///     recount::simple::Meter meter({"perf::PAGE-FAULTS"});
///     work();
///     auto r = meter.read();
///     if (auto rate = r.rate("perf::PAGE-FAULTS")) fmt::print("{} faults a second\n", *rate);
class Meter {
public:
  explicit Meter(std::vector<std::string> events, Domain domain = Domain::all);
  Meter(Meter&&) noexcept;
  Meter& operator=(Meter&&) noexcept;
  ~Meter();
  /// Since construction or the last reset; goes on counting.
  [[nodiscard]] Reading read();
  /// The same, and the next reading starts here: intervals follow without a gap.
  [[nodiscard]] Reading read_and_reset();
  /// Adds the interval since the last reset to `total` and starts the next one.
  void accumulate(Reading& total);

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Instructions per cycle, with both times.
struct Ipc {
  double real_seconds = 0, processor_seconds = 0;
  std::optional<std::uint64_t> instructions, cycles;
  std::optional<double> ipc; ///< nothing when either was not counted
  double share = 0;          ///< of the interval counted: less than 1 when multiplexed (estimates then)
  Reason reason;             ///< why not
};
/// Counts user-space instructions and cycles of the calling thread from its construction on.
class IpcMeter {
public:
  IpcMeter();
  [[nodiscard]] Ipc read();
  [[nodiscard]] Ipc read_and_reset();

private:
  Meter meter_;
};

/// Floating-point operations, with both times.
struct Flops {
  double real_seconds = 0, processor_seconds = 0;
  std::optional<std::uint64_t> operations; ///< a packed operation on n elements counts n
  std::optional<double> per_second;        ///< of wall time
  std::optional<double> per_processor_second;
  double share = 0;   ///< of the interval counted, the least of all events
  std::string events; ///< what was counted, "skl::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE + 2 x …"
  Reason reason;      ///< why not
};
/// Counts what this CPU's PMU offers for floating-point operations, user space only: a short table of
/// microarchitectures, whose events are tried before they are believed.
class FlopsMeter {
public:
  FlopsMeter();
  FlopsMeter(FlopsMeter&&) noexcept;
  FlopsMeter& operator=(FlopsMeter&&) noexcept;
  ~FlopsMeter();
  [[nodiscard]] Flops read();
  [[nodiscard]] Flops read_and_reset();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace recount::simple
