// Overhead of counting: open, start, read, stop and more, for each interface.
#pragma once

#include <recount/event.hpp>
#include <recount/reason.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace recount::cost {

/// Repetitions. A visit reopens the events of an interface, so that state left by one does not favour
/// another; a batch is timed as one.
struct CostOptions {
  /// Events and presets; of a preset PAPI counts it, the other interfaces its terms. Empty: those of
  /// cost_events().
  std::vector<std::string> events;
  std::vector<std::size_t> sizes = {1, 2, 4}; ///< how many of the events at once; none larger than the list
  Domain domain = Domain::user;
  int visits = 5, batches = 20, batch = 32;
};

/// One operation through one interface (route).
struct Cost {
  std::string operation, route;
  std::size_t events = 0;
  double ns = 0;                                         ///< median over all batches
  double p10_ns = 0, p25_ns = 0, p75_ns = 0, p90_ns = 0; ///< quantiles over all batches
  std::optional<double> instructions;                    ///< user mode and kernel together
  std::optional<double> user_instructions;               ///< user mode alone
};

/// A preset and the events that the interfaces other than PAPI count for it.
struct DerivedPreset {
  std::string name;
  std::string type; ///< "DERIVED_ADD"
  std::vector<std::string> terms;
};

/// An interface that cannot count this number of events.
struct MissingRoute {
  std::string route;
  std::size_t events = 0;
  Reason reason;
};

struct Costs {
  std::vector<std::string> events;
  /// Where this machine's clock advances with the instructions and with nothing else: nanoseconds per
  /// instruction. An emulator that counts instructions (qemu -icount) does so, and costs are then exact.
  std::optional<double> ns_per_instruction;
  Reason no_instructions, no_user_instructions; ///< why there are none; empty: there are
  std::vector<Cost> rows;                       ///< by operation, then route, then number of events
  std::vector<DerivedPreset> presets;           ///< those that were counted
  std::vector<MissingRoute> missing;
};

/// Up to four events that count here in one group: of the core PMU, else (and to fill up) of Linux itself.
[[nodiscard]] std::vector<std::string> cost_events(Domain domain);

/// Measures in this thread and this process; initialises PAPI. Throws Error when an event cannot be counted
/// at all. Not thread-safe.
[[nodiscard]] Costs measure_costs(const CostOptions& options);

/// The names of the operations, so that the same thing has the same name on every route. "read", "reset" and
/// "read and reset" find the events counting; the last is from zero to values delivered.
inline constexpr const char *op_open = "open and close", *op_start = "start", *op_stop = "stop",
                            *op_read = "read", *op_reset = "reset", *op_read_reset = "read and reset",
                            *op_cycle = "start, stop, values";
/// The routes' names, as Cost::route has them.
inline constexpr const char *route_perf = "perf", *route_recount = "recount", *route_papi = "PAPI",
                            *route_c = "recount C", *route_user = "recount user-space";

} // namespace recount::cost
