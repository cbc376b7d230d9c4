// What is counted, in which groups, and what becomes of the counts.
#pragma once

#include "metric/metric.hpp"
#include "stat/items.hpp"
#include "witness/asked.hpp"

#include <recount/group.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace recount::stat {

/// An event or preset, and where its counts are.
struct Operand {
  std::string name;
  witness::Asked asked;
  std::vector<std::size_t> events; ///< in step with asked.events: indices into Plan::events
};

enum class RowKind {
  event,
  preset,
  metric,
  usage ///< what the system accounts to the command, known when it has ended: user-time, max-rss
};

/// One line of the answer.
struct Row {
  std::string name;
  RowKind kind = RowKind::event;
  std::string unit;
  metric::Metric metric;         ///< of a metric
  std::size_t formula = 0;       ///< which of its formulas is taken
  std::vector<Operand> operands; ///< one; of a metric, those of the formula that are events, in its order
  std::string refused;           ///< why it cannot be counted; empty: it can
  std::string refused_by;        ///< of a metric: which of its events; else empty
};

struct Plan {
  std::vector<Row> rows;
  std::vector<Event> events;                    ///< everything that is opened, each once
  std::vector<std::vector<std::size_t>> groups; ///< of kernel groups, the indices of the events
  std::vector<std::string> notes;               ///< why there are more groups than asked for, and the like
  Domain domain = Domain::all;                  ///< where names without :u or :k are counted
};

/// What is counted when nothing is asked for. `command`: with what is known of a command that has ended.
[[nodiscard]] std::vector<std::string> default_items(bool command);

/// User mode and the kernel where this user may count there, else user mode.
[[nodiscard]] Domain allowed_domain();

/// Looks up every name: a metric, else a preset, else an event; on a hybrid CPU an event becomes a row for
/// each kind of core. Tries on this thread which events can be counted, and which together. What cannot be
/// counted stays as a row with its reason. Throws Error: bad_input for a name that nobody knows, unavailable
/// for a group in braces that does not fit on the PMU.
[[nodiscard]] Plan make_plan(const std::vector<Item>& items, const metric::Metrics& metrics, Domain domain);

} // namespace recount::stat
