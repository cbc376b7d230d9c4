#include "cost/cost.hpp"
#include "cost/routes.hpp"

#include "statistics/statistics.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/user_read.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace recount::cost {
namespace {

/// In the order in which they are worth counting; those of the core PMU first.
constexpr std::array candidates{"perf::INSTRUCTIONS", "perf::CYCLES",        "perf::BRANCH-MISSES",
                                "perf::CACHE-MISSES", "perf::PAGE-FAULTS",   "perf::CONTEXT-SWITCHES",
                                "perf::MINOR-FAULTS", "perf::CPU-MIGRATIONS"};

/// User-mode instructions of this thread, by a counter of its own. Absent where there is none.
class InstructionCounter {
public:
  InstructionCounter() {
    try {
      read_.emplace(encode("perf::INSTRUCTIONS", Domain::user));
      read_->start();
    } catch (const Error& e) {
      reason_ = e.problem().cause;
    }
  }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] Probe probe() {
    return {[](void* self) { return static_cast<UserRead*>(self)->value().value_or(0); }, &*read_};
  }
  /// Whether it was scheduled all the time; a multiplexed counter has gaps.
  [[nodiscard]] bool always_scheduled() { return !multiplexed(read_->read()); }

private:
  std::optional<UserRead> read_;
  std::string reason_;
};

struct Key {
  std::string operation, route;
  std::size_t events;
  auto operator<=>(const Key&) const = default;
};
/// Values of all batches for each cell of the table.
using Samples = std::map<Key, std::vector<double>>;

/// Cost of an empty operation in both ways of measuring.
struct EmptyOperation {
  double repeated, single;
  EmptyOperation(const Probe& probe, int batch) {
    const auto none = [] {};
    const Step r = cost::repeated("", none, none, none), s = cost::single("", none, none, none);
    std::vector<double> a, b;
    for (int i = 0; i < 9; ++i) {
      a.push_back(r.measure(probe, batch));
      b.push_back(s.measure(probe, batch));
    }
    repeated = statistics::median(a);
    single = statistics::median(b);
  }
};

bool is_single(const std::string& operation) {
  return operation == op_start || operation == op_stop;
}

/// What is measured together: all operations on a number of events, or the reading of one derived preset.
struct Task {
  Subject subject;
  std::string only_read; ///< as what a read is entered in the table; empty: all operations are measured
};

/// One visit to a route: each of its operations, batch after batch.
void visit(Route& route, const char* name, const Task& task, const CostOptions& options, const Probe& probe,
           Samples& samples) {
  for (const Step& step : route.steps()) {
    if (!task.only_read.empty() && step.operation != op_read) continue;
    const EmptyOperation empty(probe, options.batch);
    const double own = is_single(step.operation) ? empty.single : empty.repeated;
    const std::string& operation = task.only_read.empty() ? step.operation : task.only_read;
    auto& values = samples[{operation, name, task.subject.names.size()}];
    (void)step.measure(probe, options.batch); // binds symbols, touches pages, fills caches
    // Opening is slow and not done in loops.
    const int batch = step.operation == op_open ? std::max(1, options.batch / 16) : options.batch;
    for (int i = 0; i < options.batches; ++i)
      values.push_back(step.measure(probe, batch) - own);
  }
}

std::unique_ptr<Route> open(const RouteEntry& entry, const Subject& subject, Domain domain) {
  if (!subject.refused.empty() && entry.open != open_papi)
    throw unavailable(entry.name, subject.refused, {}, {});
  return entry.open(subject, domain);
}

/// Every route in turn, visit after visit. Missing interfaces are recorded on the first visit.
void visit_all(const CostOptions& options, const std::vector<Task>& tasks, const Probe& probe,
               const std::function<bool()>& valid, Samples& samples, std::vector<MissingRoute>* missing) {
  for (const Task& task : tasks) {
    for (int round = 0; round < options.visits; ++round) {
      for (const RouteEntry& entry : routes()) {
        try {
          Samples of_visit;
          visit(*open(entry, task.subject, options.domain), entry.name, task, options, probe, of_visit);
          if (!valid()) continue;
          for (auto& [key, values] : of_visit)
            samples[key].insert(samples[key].end(), values.begin(), values.end());
        } catch (const Error& e) {
          if (missing != nullptr && round == 0)
            missing->push_back({entry.name, task.subject.names.size(), e.problem().cause});
        }
      }
    }
  }
}

std::vector<std::string> chosen(const CostOptions& options) {
  auto events = options.events.empty() ? cost_events(options.domain) : options.events;
  for (const std::size_t size : options.sizes) {
    if (size == 0 || size > events.size())
      throw bad_input("cost", "fewer events than requested per group: " + std::to_string(size),
                      "name more events with -e, or use smaller numbers with --at-once");
  }
  return events;
}

/// The groups of events, then the derived presets.
std::vector<Task> tasks_of(const CostOptions& options, Costs& costs) {
  std::vector<Task> tasks;
  for (const std::size_t size : options.sizes)
    tasks.push_back(
        {subject_of({costs.events.begin(), costs.events.begin() + static_cast<std::ptrdiff_t>(size)},
                    options.domain),
         {}});
  if (!options.derived) return tasks;
  for (const auto& [type, operation] :
       {std::pair{Derived::add, op_read_add}, {Derived::postfix, op_read_postfix}}) {
    if (auto subject = derived_subject(type, options.domain))
      tasks.push_back({std::move(*subject), operation});
    else
      costs.missing.push_back({operation, 1, "no preset of this type can be counted here"});
  }
  return tasks;
}

/// In the order of the routes within an operation.
std::vector<Cost> table(const Samples& times, const Samples& user, std::optional<double> ns_per_instruction) {
  std::vector<Cost> rows;
  for (const char* operation : {op_open, op_start, op_read, op_stop, op_reset, op_read_reset, op_cycle,
                                op_read_add, op_read_postfix}) {
    for (const RouteEntry& route : routes()) {
      for (const auto& [key, values] : times) {
        if (key.operation != operation || key.route != route.name || values.empty()) continue;
        const auto all = statistics::summarise(values);
        Cost cost{operation,
                  route.name,
                  key.events,
                  all.median,
                  all.p10,
                  statistics::quantile(values, 0.25),
                  statistics::quantile(values, 0.75),
                  all.p90,
                  {},
                  {}};
        if (ns_per_instruction) cost.instructions = all.median / *ns_per_instruction;
        if (const auto it = user.find(key); it != user.end() && !it->second.empty())
          cost.user_instructions = statistics::median(it->second);
        rows.push_back(std::move(cost));
      }
    }
  }
  return rows;
}

} // namespace

std::span<const RouteEntry> routes() {
  static const std::array all{
      RouteEntry{route_perf, open_perf},       RouteEntry{route_flag, open_perf_flag},
      RouteEntry{route_recount, open_recount}, RouteEntry{route_papi, open_papi},
      RouteEntry{route_user, open_user_reads}, RouteEntry{route_value, open_user_values}};
  return all;
}

std::vector<std::string> cost_events(Domain domain) {
  std::vector<std::string> events;
  for (const char* name : candidates) {
    auto with = events;
    with.emplace_back(name);
    try {
      const Group trial(with, domain);
      events = std::move(with);
    } catch (const Error&) { // not here, or not beside the others
    }
    if (events.size() == 4) break;
  }
  return events;
}

Costs measure_costs(const CostOptions& options) {
  Costs costs;
  costs.events = chosen(options);
  {
    const Subject subject = subject_of(costs.events, options.domain);
    costs.presets = subject.presets;
    if (subject.presets.empty())
      const Group trial(subject.events); // throws for events that cannot be counted
  }
  const auto tasks = tasks_of(options, costs);
  for (const Task& task : tasks)
    if (!task.only_read.empty())
      costs.presets.insert(costs.presets.end(), task.subject.presets.begin(), task.subject.presets.end());
  Samples times, user;
  costs.ns_per_instruction = clock_counts_instructions();
  if (!costs.ns_per_instruction)
    costs.no_instructions = "the clock of this machine does not count instructions, unlike that of an "
                            "emulator that counts them (qemu -icount)";
  visit_all(
      options, tasks, clock_probe(), [] { return true; }, times, &costs.missing);

  InstructionCounter counter;
  costs.no_user_instructions = counter.reason();
  if (counter.reason().empty()) {
    CostOptions fewer = options;
    fewer.visits = 1; // instructions do not vary as times do
    visit_all(
        fewer, tasks, counter.probe(), [&] { return counter.always_scheduled(); }, user, nullptr);
    if (user.empty()) costs.no_user_instructions = "the events leave no counter free to count instructions";
  }
  costs.rows = table(times, user, costs.ns_per_instruction);
  return costs;
}

} // namespace recount::cost
