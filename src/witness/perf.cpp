// perf: the kernel's own counters, read raw.
#include "witness/counting.hpp"
#include "witness/preset_terms.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <cmath>
#include <fmt/format.h>
#include <recount/group.hpp>
#include <span>

namespace recount::witness {
namespace {

/// The events of one metric: one, or on a hybrid CPU one for each kind of core.
struct Asked {
  std::vector<Event> events;
  std::string refused; ///< why it cannot be counted; empty: it can
};

Asked ask(const std::string& metric) {
  if (!counter_name(metric)) return {{}, "a time, not a count: the clock witness tells it"};
  if (is_preset(metric)) return {{}, preset_refused(metric)};
  try {
    Asked asked{encode_each(counted_as(metric), Domain::user), {}};
    static_cast<void>(Counters(asked.events)); // tried alone, so that its refusal names it
    return asked;
  } catch (const Error& error) {
    return {{}, reason_of(error)};
  }
}

std::string missing(const std::vector<std::string>& metrics) {
  std::string first;
  for (const auto& metric : metrics) {
    const std::string refused = ask(metric).refused;
    if (refused.empty()) return {};
    if (first.empty()) first = metric + ": " + refused;
  }
  return first;
}

/// A count becomes a value; an extrapolated one says so.
void fill(result::Observation& o, const Count& count) {
  o.enabled_ns = static_cast<std::int64_t>(count.enabled_ns);
  o.running_ns = static_cast<std::int64_t>(count.running_ns);
  if (!count.value) {
    o.reason = count.reason;
  } else if (!multiplexed(count)) {
    o.value = static_cast<std::int64_t>(*count.value);
  } else {
    o.value = static_cast<std::int64_t>(std::llround(scale(count).value_or(0)));
    o.flags.push_back(fmt::format("multiplexed, counted {:.1f} % of the time", 100 * share(count)));
  }
}

/// What a pass over the region gave, as far as its events are concerned.
struct Pass {
  std::vector<Count> counts; ///< in the order of the pass's events
  Watched watched;
};

Pass one_pass(const std::vector<Event>& events, kernel::Instance& instance) {
  Counters counters(events);
  counters.start(); // once in vain: the first call binds symbols and touches pages
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

/// One event counted: its count, and the pass that it was counted in.
struct Counted {
  Count count;
  const Watched* watched = nullptr;
  std::size_t pass = 0;
};

/// Counts in as many passes over the region as there are groups: a group that has the PMU to itself is
/// counted exactly, where groups that take turns are only estimated. In the order of the events.
std::vector<Counted> count(const std::vector<Event>& events, kernel::Instance& instance,
                           std::vector<Pass>& passes) {
  std::vector<Counted> counted(events.size());
  const auto groups = events.empty() ? std::vector<std::vector<std::size_t>>{} : Counters(events).groups();
  passes.reserve(groups.size()); // pointed into
  for (const auto& group : groups) {
    std::vector<Event> its;
    for (const std::size_t i : group)
      its.push_back(events[i]);
    const Pass& pass = passes.emplace_back(one_pass(its, instance));
    for (std::size_t i = 0; i < group.size(); ++i)
      counted[group[i]] = {pass.counts[i], &pass.watched, passes.size()};
  }
  return counted;
}

/// Of a hybrid CPU's events the one counts whose kind of core the region ran on.
void fill(result::Observation& o, std::span<const Counted> events) {
  const Count* counted = nullptr;
  for (const auto& [count, watched, pass] : events) {
    if (!count.value) continue;
    if (counted) {
      o.reason = "the region ran on more than one kind of core; pin it with --cpu";
      return;
    }
    counted = &count;
  }
  fill(o, counted ? *counted : events.front().count);
}

std::vector<result::Observation> observe(const kernel::Kernel&, kernel::Instance* instance,
                                         const Task& task) {
  std::vector<Asked> asked;
  std::vector<Event> events;
  for (const auto& metric : task.metrics) {
    asked.push_back(ask(metric));
    events.insert(events.end(), asked.back().events.begin(), asked.back().events.end());
  }
  std::vector<Pass> passes;
  const auto counted = count(events, *instance, passes);

  std::vector<result::Observation> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < task.metrics.size(); ++i) {
    auto& o = all.emplace_back(blank(task, task.metrics[i]));
    o.accesses = instance->accesses();
    o.reason = asked[i].refused;
    if (!o.reason.empty()) continue;
    const auto its = std::span(counted).subspan(at, asked[i].events.size());
    at += its.size();
    fill(o, its);
    const Counted& first = its.front();
    o.seconds = static_cast<double>(first.watched->lapse.ns) / 1e9;
    o.flags.insert(o.flags.end(), first.watched->flags.begin(), first.watched->flags.end());
    if (passes.size() > 1)
      o.flags.push_back(fmt::format("counted in pass {} of {}", first.pass, passes.size()));
  }
  return all;
}

} // namespace

Witness perf_witness() {
  return {
      "perf", "raw counters of the Linux kernel", true, {"PAPI_L1_DCM", "PAPI_L2_DCM"}, counter_name, missing,
      observe};
}

} // namespace recount::witness
