// perf: the kernel's own counters, read raw.
#include "perf/open_group.hpp"
#include "witness/counting.hpp"
#include "witness/metric_events.hpp"
#include "witness/sets.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <fmt/format.h>
#include <recount/group.hpp>

namespace recount::witness {
namespace by_perf {
namespace {

std::string missing(const std::vector<std::string>& metrics) {
  std::string first;
  for (const auto& metric : metrics) {
    const std::string refused = resolve_metric(metric).refused;
    if (refused.empty()) return {};
    if (first.empty()) first = metric + ": " + refused;
  }
  return first;
}

/// Counts of a pass over the region.
struct Pass {
  std::vector<Count> counts; ///< in the order of the pass's events
  Watched watched;
};

/// Inherited events, for an instance that works in a child process.
GroupOptions options_for(const kernel::Instance& instance) {
  GroupOptions options;
  options.inherit = !instance.elsewhere().empty();
  return options;
}

Pass one_pass(const std::vector<Event>& events, kernel::Instance& instance) {
  Counters counters(events, options_for(instance));
  counters.start(); // warm-up: the first call binds symbols and touches pages
  counters.stop();
  counters.reset();
  struct Both {
    Counters& counters;
    kernel::Region region;
  } both{counters, instance.region()};
  const auto measured = [](void* context) {
    auto& b = *static_cast<Both*>(context);
    b.counters.start();
    b.region();
    b.counters.stop();
  };
  Pass pass;
  pass.watched = watched_lapse({measured, &both});
  pass.counts = counters.read();
  return pass;
}

/// Events that do not fit together are counted in as many passes as it takes: alone scheduled a group is
/// counted exactly, while multiplexed groups are only estimated. Times are those of the last pass.
Pass passes(const std::vector<Event>& events, kernel::Instance& instance, std::size_t& number) {
  Pass all;
  all.counts.resize(events.size());
  for (const auto& group : perf::passes_of(events, Counters(events).groups())) {
    std::vector<Event> its;
    for (const std::size_t i : group)
      its.push_back(events[i]);
    Pass pass = one_pass(its, instance);
    for (std::size_t i = 0; i < group.size(); ++i)
      all.counts[group[i]] = pass.counts[i];
    all.watched = std::move(pass.watched);
    ++number;
  }
  return all;
}

std::vector<result::Observation> observe(const kernel::Kernel&, kernel::Instance* instance,
                                         const Task& task) {
  std::vector<MetricEvents> asked;
  std::vector<result::Observation> all;
  for (const auto& metric : task.metrics) {
    asked.push_back(resolve_metric(metric));
    auto& o = all.emplace_back(blank(task, metric));
    o.accesses = instance->accesses();
    refuse(o, asked.back());
  }
  const auto sets = sets_of(asked, fits_one_group);
  std::size_t number = 0;
  for (const Set& set : sets) {
    const std::size_t before = number;
    const Pass pass = passes(set.events, *instance, number);
    for (std::size_t i = 0; i < set.metrics.size(); ++i) {
      auto& o = all[set.metrics[i]];
      fill(o, asked[set.metrics[i]], set.counts_of(i, pass.counts));
      flag_core_types(o, asked[set.metrics[i]], set.counts_of(i, pass.counts));
      o.seconds = static_cast<double>(pass.watched.lapse.ns) / 1e9;
      o.flags.insert(o.flags.end(), pass.watched.flags.begin(), pass.watched.flags.end());
      if (number - before > 1)
        o.flags.push_back(fmt::format("its terms were counted in {} passes", number - before));
      else if (sets.size() > 1)
        o.flags.push_back(fmt::format("counted in pass {} of {}", number, sets.size()));
    }
  }
  return all;
}

} // namespace
} // namespace by_perf

Witness perf_witness() {
  using namespace by_perf;
  return {
      "perf", "raw counters of the Linux kernel", true, {"PAPI_L1_DCM", "PAPI_L2_DCM"}, counter_name, missing,
      observe};
}

} // namespace recount::witness
