// The interfaces to the counters, each with its operations.
#pragma once

#include "cost/probe.hpp"

#include <recount/event.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace recount::cost {

/// The names of the operations, so that the same thing has the same name on every route. "read", "reset" and
/// "read and reset" find the events counting; the last is from zero to values delivered.
inline constexpr const char *op_open = "open and close", *op_start = "start", *op_stop = "stop",
                            *op_read = "read", *op_reset = "reset", *op_read_reset = "read and reset",
                            *op_cycle = "start, stop, values";

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
  /// Throws Error where the route cannot count these events; `names` are those of the events.
  std::unique_ptr<Route> (*open)(const std::vector<std::string>& names, Domain domain);
};
[[nodiscard]] std::span<const RouteEntry> routes();

// One file each.
std::unique_ptr<Route> open_perf(const std::vector<std::string>& names, Domain domain);
std::unique_ptr<Route> open_perf_flag(const std::vector<std::string>& names, Domain domain);
std::unique_ptr<Route> open_recount(const std::vector<std::string>& names, Domain domain);
std::unique_ptr<Route> open_papi(const std::vector<std::string>& names, Domain domain);
std::unique_ptr<Route> open_user_reads(const std::vector<std::string>& names, Domain domain);
std::unique_ptr<Route> open_user_values(const std::vector<std::string>& names, Domain domain);

} // namespace recount::cost
