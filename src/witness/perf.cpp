// perf: the kernel's own counters, read raw.
#include "witness/counting.hpp"
#include "witness/preset_terms.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <recount/group.hpp>

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

/// Of a hybrid CPU's events the one counts whose kind of core the region ran on.
void fill(result::Observation& o, std::span<const Count> counts) {
  const Count* counted = nullptr;
  for (const auto& count : counts) {
    if (!count.value) continue;
    if (counted) {
      o.reason = "the region ran on more than one kind of core; pin it with --cpu";
      return;
    }
    counted = &count;
  }
  fill(o, counted ? *counted : counts.front());
}

/// Counts in as many passes over the region as there are groups: a group that has the PMU to itself is
/// counted exactly, where groups that take turns are only estimated. Fills `counts`, in the order of events.
double count(const std::vector<Event>& events, kernel::Instance& instance, std::vector<Count>& counts,
             std::vector<std::size_t>& pass_of) {
  const Counters together(events);
  double seconds = 0;
  for (const auto& group : together.groups()) {
    std::vector<Event> its;
    for (const std::size_t i : group)
      its.push_back(events[i]);
    Counters counters(its);
    counters.start(); // once in vain: the first call binds symbols and touches pages
    counters.stop();
    counters.reset();
    const kernel::Region region = instance.region();
    struct Both {
      Counters& counters;
      kernel::Region region;
    } both{counters, region};
    const auto measured = [](void* context) {
      auto& b = *static_cast<Both*>(context);
      b.counters.start();
      b.region();
      b.counters.stop();
    };
    seconds = static_cast<double>(lapse({measured, &both}).ns) * 1e-9;
    const auto& read = counters.read();
    for (std::size_t i = 0; i < group.size(); ++i) {
      counts[group[i]] = read[i];
      pass_of[group[i]] = static_cast<std::size_t>(&group - together.groups().data()) + 1;
    }
  }
  return seconds;
}

std::vector<result::Observation> observe(const kernel::Kernel&, kernel::Instance* instance,
                                         const Task& task) {
  std::vector<Asked> asked;
  std::vector<Event> events;
  for (const auto& metric : task.metrics) {
    asked.push_back(ask(metric));
    events.insert(events.end(), asked.back().events.begin(), asked.back().events.end());
  }
  std::vector<Count> counts(events.size());
  std::vector<std::size_t> pass_of(events.size(), 1);
  const double seconds = events.empty() ? 0 : count(events, *instance, counts, pass_of);
  const std::size_t passes = events.empty() ? 0 : *std::max_element(pass_of.begin(), pass_of.end());

  std::vector<result::Observation> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < task.metrics.size(); ++i) {
    auto& o = all.emplace_back(blank(task, task.metrics[i]));
    o.accesses = instance->accesses();
    if (asked[i].events.empty()) {
      o.reason = asked[i].refused;
      continue;
    }
    fill(o, std::span(counts).subspan(at, asked[i].events.size()));
    if (passes == 1) o.seconds = seconds;
    if (passes > 1) o.flags.push_back(fmt::format("counted in pass {} of {}", pass_of[at], passes));
    at += asked[i].events.size();
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
