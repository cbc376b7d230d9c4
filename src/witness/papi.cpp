// papi: the second count, through PAPI's event sets.
#include "papi/library.hpp"
#include "process/child.hpp"
#include "process/write_all.hpp"
#include "witness/counting.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <fmt/format.h>
#include <optional>
#include <recount/papi.hpp>

namespace recount::witness {
namespace by_papi {
namespace {

std::string missing_here(const std::vector<std::string>& metrics) {
  std::string first;
  for (const auto& metric : metrics) {
    const std::string refused =
        counter_name(metric) ? papi_refusal({counted_as(metric)}).reason : "a time, not a count";
    if (refused.empty()) return {};
    if (first.empty()) first = metric + ": " + refused;
  }
  return first;
}

/// Runs in a forked child, so that PAPI is not initialised in the process that starts the runs.
std::string missing(const std::vector<std::string>& metrics) {
  const auto tried = process::in_fork(
      [&](int fd) {
        const std::string text = missing_here(metrics);
        return process::write_all(fd, text) ? 0 : 1;
      },
      std::chrono::seconds(20));
  if (tried.exit.ok()) return tried.out;
  return "PAPI crashed in a trial (" + describe(tried.exit) + ")";
}

/// One set at a time over one pass of the region.
struct Pass {
  PapiSet& set;
  kernel::Region region;
  std::vector<long long> values;
  static void measured(void* context) {
    auto& pass = *static_cast<Pass*>(context);
    pass.set.start();
    pass.region();
    pass.set.stop(pass.values);
  }
};

/// Fills the observations of `which` from one pass; throws Error when they cannot be counted together.
void count(std::vector<result::Observation>& all, const std::vector<std::size_t>& which,
           kernel::Instance& instance) {
  std::vector<std::string> names;
  for (const std::size_t i : which)
    names.push_back(counted_as(all[i].metric));
  PapiSet set(names, Domain::user);
  Pass pass{set, instance.region(), std::vector<long long>(names.size())};
  set.start(); // warm-up: the first call binds symbols and touches pages
  set.stop(pass.values);
  const Watched watched = watched_lapse({Pass::measured, &pass});
  for (std::size_t i = 0; i < which.size(); ++i) {
    all[which[i]].value = std::int64_t{pass.values[i]};
    all[which[i]].seconds = static_cast<double>(watched.lapse.ns) / 1e9;
    all[which[i]].flags = watched.flags;
  }
}

void count_apart(std::vector<result::Observation>& all, const std::vector<std::size_t>& which,
                 kernel::Instance& instance) {
  for (const std::size_t i : which) {
    try {
      count(all, {i}, instance);
      all[i].flags.push_back("counted in a pass of its own");
    } catch (const Error& error) {
      all[i].reason = reason_of(error);
    }
  }
}

std::vector<result::Observation> observe(const kernel::Kernel&, kernel::Instance* instance,
                                         const Task& task) {
  std::vector<result::Observation> all;
  std::vector<std::size_t> countable;
  for (const auto& metric : task.metrics) {
    auto& o = all.emplace_back(blank(task, metric));
    o.accesses = instance->accesses();
    const Refusal refused = counter_name(metric) ? papi_refusal({counted_as(metric)})
                                                 : Refusal{"a time, not a count: use the clock witness"};
    o.reason = refused.reason;
    if (o.reason.empty()) o.reason = instance->elsewhere();
    if (refused.crashed) o.flags.emplace_back(papi_died);
    if (o.reason.empty()) countable.push_back(all.size() - 1);
  }
  if (countable.empty()) return all;
  try {
    count(all, countable, *instance);
  } catch (const Error&) { // each can be counted, but not together
    count_apart(all, countable, *instance);
  }
  return all;
}

} // namespace
} // namespace by_papi

Refusal papi_refusal(const std::vector<std::string>& names) {
  try {
    static_cast<void>(PapiSet(names, Domain::user));
    return {};
  } catch (const Error& error) {
    return {reason_of(error), papi::is_crash(error)};
  }
}

Witness papi_witness() {
  using namespace by_papi;
  return {"papi", "PAPI event sets", true, {"PAPI_L1_DCM", "PAPI_L2_DCM"}, counter_name, missing, observe};
}

} // namespace recount::witness
