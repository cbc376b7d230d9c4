// Which events are counted, in which groups, and how values are computed from them.
#pragma once

#include "metric/metric.hpp"
#include "stat/items.hpp"
#include "witness/metric_events.hpp"

#include <recount/group.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace recount::stat {

/// An event or preset, and where its counts are.
struct Operand {
  std::string name;
  witness::MetricEvents asked;
  std::vector<std::size_t> events; ///< parallel to asked.events: indices into Plan::events
};

enum class RowKind {
  event,
  preset,
  metric,
  usage ///< resource usage of the command, known after its end: user-time, max-rss
};

/// One row of the output.
struct PlanRow {
  std::string name;
  RowKind kind = RowKind::event;
  std::string unit;
  metric::Metric metric;         ///< of a metric
  std::size_t formula = 0;       ///< index of the formula in use
  std::vector<Operand> operands; ///< one; of a metric, those of the formula that are events, in its order
  std::string refused;           ///< why it cannot be counted; empty: it can
  std::string refused_by;        ///< of a metric: the event that cannot be counted; else empty
};

struct Plan {
  std::vector<PlanRow> rows;
  std::vector<Event> events;                    ///< all opened events, each once
  std::vector<std::vector<std::size_t>> groups; ///< of kernel groups, the indices of the events
  std::vector<std::string> notes;               ///< for example, why there are more groups than requested
  Domain domain = Domain::all;                  ///< where names without :u or :k are counted
};

/// Default items. `command`: include the resource usage of a command.
[[nodiscard]] std::vector<std::string> default_items(bool command);

/// User mode and the kernel where this user may count there, else user mode.
[[nodiscard]] Domain allowed_domain();

/// Looks up every name: a metric, else a preset, else an event; on a hybrid CPU an event becomes a row for
/// each core type. Tries on this thread which events can be counted, and which together. What cannot be
/// counted stays as a row with its reason. Throws Error: bad_input for an unknown name, unavailable
/// for a group in braces that does not fit scheduled.
[[nodiscard]] Plan make_plan(const std::vector<Item>& items, const metric::Metrics& metrics, Domain domain);

} // namespace recount::stat
