#include "cost/cost.hpp"
#include "cost/probe.hpp"
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

/// One visit to a route: each of its operations, batch after batch.
void visit(Route& route, const char* name, std::size_t events, const CostOptions& options, const Probe& probe,
           Samples& samples) {
  for (const Step& step : route.steps()) {
    const EmptyOperation empty(probe, options.batch);
    const double own = is_single(step.operation) ? empty.single : empty.repeated;
    auto& values = samples[{step.operation, name, events}];
    (void)step.measure(probe, options.batch); // binds symbols, touches pages, fills caches
    // Opening is slow and not done in loops.
    const int batch = step.operation == op_open ? std::max(1, options.batch / 16) : options.batch;
    for (int i = 0; i < options.batches; ++i)
      values.push_back(step.measure(probe, batch) - own);
  }
}

/// Every route in turn, visit after visit. Missing interfaces are recorded on the first visit.
void visit_all(const CostOptions& options, const std::vector<std::string>& names, const Probe& probe,
               const std::function<bool()>& valid, Samples& samples, std::vector<MissingRoute>* missing) {
  for (const std::size_t size : options.sizes) {
    const std::vector<std::string> some(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(size));
    for (int round = 0; round < options.visits; ++round) {
      for (const RouteEntry& entry : routes()) {
        try {
          Samples of_visit;
          visit(*entry.open(some, options.domain), entry.name, size, options, probe, of_visit);
          if (!valid()) continue;
          for (auto& [key, values] : of_visit)
            samples[key].insert(samples[key].end(), values.begin(), values.end());
        } catch (const Error& e) {
          if (missing != nullptr && round == 0) missing->push_back({entry.name, size, e.problem().cause});
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

/// In the order of the routes within an operation.
std::vector<Cost> table(const Samples& times, const Samples& user, std::optional<double> ns_per_instruction,
                        const std::vector<std::size_t>& sizes) {
  std::vector<Cost> rows;
  for (const char* operation : {op_open, op_start, op_read, op_stop, op_reset, op_read_reset, op_cycle}) {
    for (const RouteEntry& route : routes()) {
      for (const std::size_t size : sizes) {
        const Key key{operation, route.name, size};
        const auto found = times.find(key);
        if (found == times.end() || found->second.empty()) continue;
        const auto all = statistics::summarise(found->second);
        Cost cost{operation, route.name, size, all.median, all.p10, all.p90, {}, {}};
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
    const Group trial(costs.events, options.domain); // throws for events that cannot be counted
  }
  Samples times, user;
  costs.ns_per_instruction = clock_counts_instructions();
  if (!costs.ns_per_instruction)
    costs.no_instructions = "the clock of this machine does not count instructions, unlike that of an "
                            "emulator that counts them (qemu -icount)";
  visit_all(
      options, costs.events, clock_probe(), [] { return true; }, times, &costs.missing);

  InstructionCounter counter;
  costs.no_user_instructions = counter.reason();
  if (counter.reason().empty()) {
    CostOptions fewer = options;
    fewer.visits = 1; // instructions do not vary as times do
    visit_all(
        fewer, costs.events, counter.probe(), [&] { return counter.always_scheduled(); }, user, nullptr);
    if (user.empty()) costs.no_user_instructions = "the events leave no counter free to count instructions";
  }
  costs.rows = table(times, user, costs.ns_per_instruction, options.sizes);
  return costs;
}

} // namespace recount::cost
