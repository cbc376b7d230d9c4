// Which events are counted, in which groups, and how values are computed from them.
#pragma once

#include "base/host/machine.hpp"
#include "base/process/child.hpp"
#include "count/event/encode.hpp"
#include "count/metric/metric.hpp"
#include "run/result/observation.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/count.hpp>
#include <recount/group.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace recount::stat {

/// One name and its group.
struct Item {
  std::string name;
  std::optional<std::size_t> group; ///< counted from 0 over all lists; none: not in braces
  bool weak = false;                ///< a group that may be split ({a,b}:W)
  bool repeated = false;            ///< in an earlier group, too
};

/// The words between the commas of a list. A comma within PMU/terms/ belongs to the name. Throws Error
/// (bad_input). Pure.
[[nodiscard]] std::vector<std::string> split_names(std::string_view list);

/// Parses lists of names, separated by commas, and {groups} of names. A comma within PMU/terms/ belongs
/// to the name. Modifiers behind a group, {a,b}:u, are those of each name. Repeated names are removed; a name
/// in several groups is an item of each. Throws Error (bad_input). Pure.
[[nodiscard]] std::vector<Item> parse_items(const std::vector<std::string>& lists);

/// An event or preset, and where its counts are.
struct Operand {
  std::string name;
  witness::MetricEvents requested;
  std::vector<std::size_t> events; ///< parallel to requested.events: indices into Plan::events
  event::Scale scale;              ///< of an uncore event: its unit
};

enum class RowKind {
  event,
  preset,
  metric,
  usage,   ///< resource usage of the command, known after its end: user-time, max-rss; and duration-time
  modelled ///< simulated, see modelled.hpp
};

/// One row of the output.
struct PlanRow {
  std::string name;
  RowKind kind = RowKind::event;
  std::string unit = {};
  metric::Metric metric = {}; ///< of a metric
  std::size_t formula = 0;    ///< index of the formula in use
  std::vector<Operand> operands =
      {}; ///< one; of a metric, those of the formula that are events, in its order
  std::optional<std::size_t> part = {}; ///< of a core type's part: which of the operand's events it is
  Reason refused = {};                  ///< why it cannot be counted; empty: it can
  std::string refused_by = {};          ///< of a metric: the event that cannot be counted; else empty
  Witness witness = {};                 ///< papi, or of a modelled one; else none: perf
  std::optional<std::size_t> twin = {}; ///< of PAPI's row: that of perf in Plan::rows, if perf counts too
  bool repeated = false;                ///< of a name in an earlier group, too: counted again with this one
  bool joint = false;                   ///< of PAPI's row: over the executions that perf counts
};

struct Plan {
  std::vector<PlanRow> rows;
  std::vector<Event> events;                    ///< all opened events, each once per group of the user
  std::vector<std::vector<std::size_t>> groups; ///< of kernel groups, the indices of the events
  std::vector<std::string> notes;               ///< for example, why there are more groups than requested
  bool rates = false; ///< the default items: a metric is shown beside its event, as are counts per second
  Domain domain = Domain::all; ///< where names without :u or :k are counted
  int cgroup = -1;             ///< with CPUs: only threads in it, see GroupOptions
  std::vector<int> cpus;       ///< whose execution is counted, whatever runs there; empty: that of processes
};

/// Default items of a command, of processes, or of whole CPUs: with the energy that these have consumed.
enum class Counted { command, processes, cpus };
[[nodiscard]] std::vector<std::string> default_items(Counted what);
/// What -d adds, as perf's does: loads and misses of L1d and of the last level.
[[nodiscard]] std::vector<std::string> detailed_items();

/// User mode and the kernel where this user may count there, else user mode.
[[nodiscard]] Domain allowed_domain();

/// Looks up every name: a metric, else a preset, else an event; on a hybrid CPU an event is the sum over core
/// types, followed by a row for each. Tries on this thread which events can be counted, and which together.
/// What cannot be counted stays as a row with its reason. Throws Error: bad_input for an unknown name,
/// unavailable for a group in braces that does not fit scheduled. `cpus`: see Plan.
[[nodiscard]] Plan make_plan(const std::vector<Item>& items, const metric::Metrics& metrics, Domain domain,
                             const std::vector<int>& cpus = {}, int cgroup = -1);

/// The CPUs of the plan on which a group is opened: all, or those that its PMU names (uncore, core types).
[[nodiscard]] std::vector<int> cpus_of_group(const Plan& plan, const std::vector<std::size_t>& group);

/// "errata of this CPU: SKL091 (branches), ...; see recount doctor": one line on all events; empty: none is
/// concerned. Pure.
[[nodiscard]] std::string errata_note(const Plan& plan, const host::Cpu& cpu);

/// One observation for each row: metric, value or reason, times and flags filled in, the rest left empty. A
/// ratio is computed from these counts only; it has no value if an operand was not counted. `counts` are in
/// the order of the plan's events, `seconds` is the wall time over which they were counted. Pure.
[[nodiscard]] std::vector<result::Observation> evaluate(const Plan& plan, std::span<const Count> counts,
                                                        double seconds);

/// Sets the value of a metric, or the reason why it has none. `value`: of an operand, by name. Pure.
void fill_metric(const PlanRow& row, const std::function<double(const std::string& name)>& value,
                 double seconds, result::Observation& o);

/// Sets the values of the rows of kind usage. Pure.
void fill_usage(const Plan& plan, const process::Exit& exit, std::vector<result::Observation>& rows);

// The options of the commands that count programs.

/// --domain; the allowed domain if empty. Throws Error (bad_input).
[[nodiscard]] Domain parse_domain(const std::string& name);
/// --pid: process IDs, separated by commas. Throws Error (bad_input).
[[nodiscard]] std::vector<pid_t> parse_pids(const std::vector<std::string>& lists);
/// --tid: IDs of threads, separated by commas. Throws Error (bad_input).
[[nodiscard]] std::vector<pid_t> parse_tids(const std::vector<std::string>& lists);
/// "S0-C1": the core of a CPU, as in perf; its hardware threads have the same.
[[nodiscard]] std::string core_name(int cpu);
/// -C: CPUs that are online, each once; all of these for an empty list. Throws Error (bad_input).
[[nodiscard]] std::vector<int> parse_cpus(const std::vector<std::string>& lists);
/// "CPU 0", "CPUs 0 1".
[[nodiscard]] std::string show_cpus(const std::vector<int>& cpus);
/// "process 1", "processes 1 2", "thread 3".
[[nodiscard]] std::string show_pids(const std::vector<pid_t>& pids, bool threads = false);

/// Notes about a plan; `domain` is the argument of --domain.
[[nodiscard]] std::vector<std::string> make_notes(const Plan& plan, const std::string& domain);

} // namespace recount::stat
