// Overhead of counting: open, start, read, stop and more, for each interface.
#pragma once

#include <recount/event.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace recount::cost {

/// Repetitions. A visit reopens the events of an interface, so that state left by one does not favour
/// another; a batch is timed as one.
struct CostOptions {
  std::vector<std::string> events;            ///< empty: those of cost_events()
  std::vector<std::size_t> sizes = {1, 2, 4}; ///< how many of the events at once; none larger than the list
  Domain domain = Domain::user;
  int visits = 5, batches = 20, batch = 32;
};

/// One operation by one route.
struct Cost {
  std::string operation, route;
  std::size_t events = 0;
  double ns = 0, low_ns = 0, high_ns = 0;  ///< median, 10 % and 90 % quantile over all batches
  std::optional<double> instructions;      ///< user mode and kernel together
  std::optional<double> user_instructions; ///< user mode alone
};

/// An interface that cannot count this number of events.
struct MissingRoute {
  std::string route;
  std::size_t events = 0;
  std::string reason;
};

struct Costs {
  std::vector<std::string> events;
  /// Where this machine's clock advances with the instructions and with nothing else: nanoseconds per
  /// instruction. An emulator that counts instructions (qemu -icount) does so, and costs are then exact.
  std::optional<double> ns_per_instruction;
  std::string no_instructions, no_user_instructions; ///< why there are none; empty: there are
  std::vector<Cost> rows;                            ///< by operation, then route, then number of events
  std::vector<MissingRoute> missing;
};

/// Up to four events that count here in one group: of the core PMU, else (and to fill up) of Linux itself.
[[nodiscard]] std::vector<std::string> cost_events(Domain domain);

/// Measures in this thread and this process; initialises PAPI. Throws Error when an event cannot be counted
/// at all.
[[nodiscard]] Costs measure_costs(const CostOptions& options);

/// The routes' names, as Cost::route has them.
inline constexpr const char *route_perf = "perf", *route_flag = "perf, group flag",
                            *route_recount = "recount", *route_papi = "PAPI",
                            *route_user = "recount user-space", *route_value = "recount user-space, no times";

} // namespace recount::cost
