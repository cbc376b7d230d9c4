// The interfaces to the counters, each with its operations.
#pragma once

#include "cost/cost.hpp"
#include "cost/probe.hpp"

#include <recount/event.hpp>
#include <recount/preset.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::cost {

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
