// How an operation is measured: a probe is read before and after, many times over.
#pragma once

#include "cost/cost.hpp"

#include <recount/event.hpp>
#include <recount/preset.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::cost {

/// Something that grows while code runs: nanoseconds, or instructions.
struct Probe {
  std::uint64_t (*read)(void* context);
  void* context;
  std::uint64_t operator()() const { return read(context); }
};

/// An operation that can be measured: what one of `batch` executions adds to the probe, the probe's own cost
/// included.
struct Step {
  std::string operation;
  std::function<double(const Probe& probe, int batch)> measure;
};

/// The compiler may neither leave the operation out nor mix it with the next.
inline void keep_order() {
  asm volatile("" ::: "memory");
}

/// Executes a different number of instructions each time, so that the steps of a coarse clock average out.
inline void dither(int i) {
  for (int k = i % 16; k > 0; --k)
    asm volatile("");
}

/// An operation that can be repeated as it stands, between two readings. `begin` and `end` are not measured.
template <class Begin, class Operation, class End>
Step repeated(std::string name, Begin begin, Operation operation, End end) {
  return {std::move(name), [=](const Probe& probe, int batch) {
            begin();
            const std::uint64_t from = probe();
            for (int i = 0; i < batch; ++i) {
              operation();
              keep_order();
            }
            const std::uint64_t to = probe();
            end();
            return static_cast<double>(to - from) / batch;
          }};
}

/// An operation that has to be undone before it can be repeated: two readings around each.
template <class Before, class Operation, class After>
Step single(std::string name, Before before, Operation operation, After after) {
  return {std::move(name), [=](const Probe& probe, int batch) {
            std::uint64_t sum = 0;
            for (int i = 0; i < batch; ++i) {
              before();
              dither(i);
              const std::uint64_t from = probe();
              operation();
              sum += probe() - from;
              after();
            }
            return static_cast<double>(sum) / batch;
          }};
}

/// CLOCK_MONOTONIC_RAW in nanoseconds.
[[nodiscard]] Probe clock_probe() noexcept;

/// Nanoseconds per instruction, where different kinds of code take the same time per instruction: an
/// emulator then advances the clock by the instructions executed. None on real machines, and where this
/// architecture is not known.
[[nodiscard]] std::optional<double> clock_counts_instructions();

// The interfaces to the counters, each with its operations.

/// The names of the operations, so that the same thing has the same name on every route. "read", "reset" and
/// "read and reset" find the events counting; the last is from zero to values delivered.
inline constexpr const char *op_open = "open and close", *op_start = "start", *op_stop = "stop",
                            *op_read = "read", *op_reset = "reset", *op_read_reset = "read and reset",
                            *op_cycle = "start, stop, values";
/// Reads of one preset that PAPI computes from several counts.
inline constexpr const char *op_read_add = "read, DERIVED_ADD", *op_read_postfix = "read, DERIVED_POSTFIX";

/// What a route counts: PAPI by the names, the others by the events, which for a preset are its terms.
struct Subject {
  std::vector<std::string> names;
  std::vector<Event> events; ///< terms of presets each once
  std::vector<DerivedPreset> presets;
  std::string refused; ///< why `events` cannot be counted though PAPI counts the names; else empty
};

/// Throws Error for a name that nobody knows, with the nearest ones, and for a preset that PAPI cannot count.
[[nodiscard]] Subject subject_of(const std::vector<std::string>& names, Domain domain);

/// The first preset of that type, of several events, that PAPI counts here; nothing where there is none.
[[nodiscard]] std::optional<Subject> derived_subject(Derived type, Domain domain);

/// Open events of this thread, stopped between steps.
class Route {
public:
  Route() = default;
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;
  virtual ~Route() = default;
  /// Steps that refer to this object.
  [[nodiscard]] virtual std::vector<Step> steps() = 0;
};

struct RouteEntry {
  const char* name;
  /// Throws Error where the route cannot count these events.
  std::unique_ptr<Route> (*open)(const Subject& subject, Domain domain);
};
[[nodiscard]] std::span<const RouteEntry> routes();

// One file each.
std::unique_ptr<Route> open_perf(const Subject& subject, Domain domain);
std::unique_ptr<Route> open_perf_flag(const Subject& subject, Domain domain);
std::unique_ptr<Route> open_recount(const Subject& subject, Domain domain);
std::unique_ptr<Route> open_papi(const Subject& subject, Domain domain);
std::unique_ptr<Route> open_user_reads(const Subject& subject, Domain domain);
std::unique_ptr<Route> open_user_values(const Subject& subject, Domain domain);

} // namespace recount::cost
