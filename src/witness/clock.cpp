// The clock: wall time and time-stamp counter around the region, minus the overhead of reading them.
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::witness {
namespace by_clock {
namespace {

bool gives(const std::string& metric) {
  return metric == "seconds" || metric == "tsc_cycles";
}

std::string missing(const std::vector<std::string>& metrics) {
  if (std::any_of(metrics.begin(), metrics.end(), gives)) return {};
  return "the clock measures only seconds and tsc_cycles";
}

void fill(result::Observation& o, const Lapse& lapse, const Lapse& cost) {
  const auto ns = without(lapse.ns, cost.ns), ticks = without(lapse.ticks, cost.ticks);
  const char* too_short = "the region took no longer than a read of the clock ({} {})";
  if (ns) o.seconds = static_cast<double>(*ns) / 1e9;
  if (o.metric == "seconds") {
    if (o.seconds)
      o.value = *o.seconds;
    else
      o.reason = fmt::format(fmt::runtime(too_short), cost.ns, "ns");
    o.seconds.reset(); // it is the value
  } else if (o.metric != "tsc_cycles") {
    o.reason = "the clock measures only seconds and tsc_cycles";
  } else if (!has_tsc()) {
    o.reason = "this architecture has no time-stamp counter that user code may read";
  } else if (ticks) {
    o.value = *ticks;
  } else {
    o.reason = fmt::format(fmt::runtime(too_short), cost.ticks, "cycles");
  }
}

/// The time that a command prints takes precedence: the time of the whole run includes its start.
void prefer(result::Observation& o, double own) {
  if (o.metric == "seconds") {
    if (const auto whole = result::as_double(o.value)) o.seconds = *whole;
    o.cpu_seconds.reset(); // of the whole run
    o.value = own;
    o.reason.clear();
  } else if (o.metric == "tsc_cycles") {
    o.value = std::monostate();
    o.reason = "the command reports its own time in seconds; cycles were counted for its whole run";
  }
}

std::vector<result::Observation> observe(const kernel::Kernel&, kernel::Instance* instance,
                                         const Task& task) {
  const Lapse cost = own_cost();
  const Watched watched = watched_lapse(instance->region());
  const auto own = instance->own_seconds();
  std::vector<result::Observation> all;
  for (const auto& metric : task.metrics) {
    auto& o = all.emplace_back(blank(task, metric));
    o.accesses = instance->accesses();
    fill(o, watched.lapse, cost);
    if (o.metric == "seconds" && o.value.index() != 0)
      o.cpu_seconds = static_cast<double>(watched.cpu_ns) / 1e9;
    if (own) prefer(o, *own);
    o.flags = watched.flags;
  }
  return all;
}

} // namespace
} // namespace by_clock

Witness clock_witness() {
  using namespace by_clock;
  if (!has_tsc()) return {"clock", "wall time", true, {"seconds"}, gives, missing, observe};
  return {"clock", "wall time and time-stamp counter", true, {"seconds", "tsc_cycles"}, gives, missing,
          observe};
}

} // namespace recount::witness
