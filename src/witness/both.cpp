// both: perf and PAPI over the same executions of the region, four per run, each the outer one twice (ABBA),
// so that neither drift nor the overhead of starting the inner one appears as a difference.
#include "witness/both_passes.hpp"
#include "witness/counting.hpp"
#include "witness/metric_events.hpp"
#include "witness/nested.hpp"
#include "witness/sets.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace recount::witness {
namespace by_both {
namespace {

constexpr int empty_executions = 7; // odd: their median is one of them

std::vector<std::string> names_of(const Set& set, const Task& task) {
  std::vector<std::string> names;
  for (const std::size_t i : set.metrics)
    names.push_back(counted_as(task.metrics[i]));
  return names;
}

/// One set over the region.
class Run {
public:
  Run(const Set& set, const std::vector<MetricEvents>& asked, const Task& task, const PassPlan& script,
      PassObservations& observations)
      : set_(set),
        asked_(asked),
        pass_plan_(script),
        observations_(observations),
        nested_(script.perf ? set.events : std::vector<Event>{},
                script.papi ? names_of(set, task) : std::vector<std::string>{}) {}

  void execute(const kernel::Region& region) {
    for (std::size_t pass = 0; pass < 2; ++pass) // each order once: the later passes have the same
      for (const Order order : pass_plan_.orders(pass))
        execute_empty(order);
    for (std::size_t pass = 0; pass < passes; ++pass)
      for (const Order order : pass_plan_.orders(pass))
        take(nested_.execute(region, order), order, pass);
  }

private:
  void execute_empty(Order order) {
    static_cast<void>(nested_.execute_nothing(order)); // the first call binds symbols and touches pages
    auto& readings = empty_[static_cast<std::size_t>(order)];
    readings.clear();
    for (int i = 0; i < empty_executions; ++i)
      readings.push_back(nested_.execute_nothing(order));
  }

  /// Puts a value, or why there is none, from a reading of the k-th metric.
  void put(result::Observation& o, std::size_t k, const Reading& reading, Interface interface) const {
    if (interface == Interface::papi) {
      o.value = std::int64_t{reading.papi[k]};
      return;
    }
    const auto its = set_.counts_of(k, reading.perf);
    if (complete(its)) return fill(o, asked_[set_.metrics[k]], its);
    double least = 1;
    for (const Count& count : its)
      least = std::min(least, share(count));
    o.reason = fmt::format("multiplexed: scheduled {:.1f} % of the time (not scaled)", 100 * least);
  }

  /// The median of what empty executions counted; nothing where one of them has no value.
  [[nodiscard]] std::optional<std::int64_t> bias(std::size_t k, Order order, Interface interface) const {
    if (!asked_[set_.metrics[k]].linear) return {};
    std::vector<std::int64_t> values;
    for (const Reading& reading : empty_[static_cast<std::size_t>(order)]) {
      result::Observation o;
      put(o, k, reading, interface);
      const auto* const value = std::get_if<std::int64_t>(&o.value);
      if (!value) return {};
      values.push_back(*value);
    }
    std::ranges::nth_element(values, values.begin() + empty_executions / 2);
    return values.at(empty_executions / 2);
  }

  void take(const Reading& reading, Order order, std::size_t pass) {
    for (std::size_t k = 0; k < set_.metrics.size(); ++k)
      for (const Interface interface : {Interface::perf, Interface::papi}) {
        if (!counts(order, interface)) continue;
        auto& o = observations_.at(set_.metrics[k], pass, interface);
        put(o, k, reading, interface);
        o.nesting = pass_plan_.nesting(order, interface);
        o.seconds = static_cast<double>(reading.watched.lapse.ns) / 1e9;
        o.flags.insert(o.flags.end(), reading.watched.flags.begin(), reading.watched.flags.end());
        auto* const value = std::get_if<std::int64_t>(&o.value);
        const auto empty = bias(k, order, interface);
        if (!value || !empty) continue;
        *value -= *empty;
        o.bias = *empty;
      }
  }

  const Set& set_;
  const std::vector<MetricEvents>& asked_;
  const PassPlan& pass_plan_;
  PassObservations& observations_;
  Nested nested_;
  std::array<std::vector<Reading>, 4> empty_; ///< by order
};

/// Whether both can count the set at the same time, whoever starts first.
bool fits_nested(const Set& set, const Task& task) {
  try {
    Nested nested(set.events, names_of(set, task));
    return nested.perf_in_one_group() && complete(nested.execute_nothing(Order::perf_outside).perf) &&
           complete(nested.execute_nothing(Order::papi_outside).perf);
  } catch (const Error&) { // PAPI refuses them together
    return false;
  }
}

/// What each witness can count, and reasons for the rest.
struct Able {
  std::vector<MetricEvents> perf;
  std::vector<Refusal> papi;
};

Able able(const Task& task, PassObservations& observations) {
  Able able;
  // PAPI first: it must initialise libpfm4 itself.
  for (std::size_t i = 0; i < task.metrics.size(); ++i) {
    const auto& metric = task.metrics[i];
    able.papi.push_back(counter_name(metric) ? papi_refusal({counted_as(metric)})
                                             : Refusal{"a time, not a count"});
    observations.every(i, Interface::papi, [&](result::Observation& o) {
      o.reason = able.papi[i].reason;
      if (able.papi[i].crashed) o.flags.emplace_back(papi_died);
    });
  }
  for (std::size_t i = 0; i < task.metrics.size(); ++i) {
    able.perf.push_back(resolve_metric(task.metrics[i]));
    observations.every(i, Interface::perf, [&](result::Observation& o) { refuse(o, able.perf[i]); });
  }
  return able;
}

/// The sets of the metrics selected by `wanted`.
template <class Wanted>
std::vector<Set> some_sets(const std::vector<MetricEvents>& asked, const Wanted& wanted, const Fits& fits) {
  std::vector<MetricEvents> those = asked;
  for (std::size_t i = 0; i < those.size(); ++i)
    those[i].refused = wanted(i) ? "" : "not selected";
  return sets_of(those, fits);
}

std::vector<result::Observation> observe(const kernel::Kernel&, kernel::Instance* instance,
                                         const Task& task) {
  PassObservations observations(task, instance->accesses());
  if (const std::string reason = instance->elsewhere(); !reason.empty()) {
    for (std::size_t i = 0; i < task.metrics.size(); ++i)
      for (const Interface interface : {Interface::papi, Interface::perf})
        observations.every(i, interface, [&](result::Observation& o) { o.reason = reason; });
    return std::move(observations).all();
  }
  const Able interface = able(task, observations);
  const auto perf = [&](std::size_t i) { return interface.perf[i].refused.empty(); };
  const auto papi = [&](std::size_t i) { return interface.papi[i].reason.empty(); };
  const auto execute = [&](const std::vector<Set>& sets, PassPlan script) {
    for (const Set& set : sets) {
      script.together = set.together;
      Run(set, interface.perf, task, script, observations).execute(instance->region());
    }
  };
  execute(some_sets(
              interface.perf, [&](std::size_t i) { return perf(i) && papi(i); },
              [&](const Set& set) { return fits_nested(set, task); }),
          {});
  execute(some_sets(
              interface.perf, [&](std::size_t i) { return perf(i) && !papi(i); }, fits_one_group),
          {true, false, true});
  execute(some_sets(
              interface.perf, [&](std::size_t i) { return !perf(i) && papi(i); },
              [](const Set&) { return false; }),
          {false, true, true});
  return std::move(observations).all();
}

std::string missing(const std::vector<std::string>& metrics) {
  const std::string perf = find("perf").missing(metrics);
  return perf.empty() ? std::string() : find("papi").missing(metrics);
}

} // namespace
} // namespace by_both

Witness both_witness() {
  using namespace by_both;
  return {"both",
          "perf and PAPI over the same executions, nested in alternating order",
          true,
          {"PAPI_L1_DCM", "PAPI_L2_DCM"},
          counter_name,
          missing,
          observe,
          {"perf", "papi"},
          static_cast<int>(passes)};
}

} // namespace recount::witness
