#include "host/disturbance.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "host/cgroup.hpp"
#include "host/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <sched.h>
#include <sstream>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace recount::host {
namespace {

struct Times {
  std::int64_t busy_ns = 0, steal_ns = 0;
};

/// The cpuN lines of /proc/stat: user nice system idle iowait irq softirq steal, in clock ticks.
std::map<int, Times> cpu_times() {
  const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  std::map<int, Times> all;
  const std::string stat = base::read_file("/proc/stat").value_or("");
  for (const auto line : base::split(stat, '\n')) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
    std::istringstream fields{std::string(line.substr(3))};
    int cpu = -1;
    std::int64_t t[8] = {};
    fields >> cpu;
    for (auto& field : t)
      fields >> field;
    all[cpu] = {(t[0] + t[1] + t[2] + t[5] + t[6]) * tick_ns, t[7] * tick_ns};
  }
  return all;
}

const std::vector<int>& siblings_of(int cpu) {
  thread_local std::map<int, std::vector<int>> known;
  const auto [it, fresh] = known.try_emplace(cpu);
  if (fresh) it->second = smt_siblings(cpu);
  return it->second;
}

/// " (2.1 %)": the share of the time between the two; empty where it is not known.
std::string share_text(std::int64_t lost_ns, std::int64_t passed_ns) {
  if (passed_ns <= 0) return {};
  const double share = static_cast<double>(lost_ns) / static_cast<double>(passed_ns);
  return fmt::format(" ({:.3g} %)", 100 * std::clamp(share, 0.0, 1.0));
}

/// Time in the run queue: run_delay of the kernel's Documentation/scheduler/sched-stats.rst.
std::optional<std::int64_t> waiting_ns() {
  std::istringstream fields(base::read_file("/proc/thread-self/schedstat").value_or(""));
  std::int64_t running = 0, waiting = 0;
  if (!(fields >> running >> waiting)) return {};
  return waiting;
}

void compare_frequency(const Disturbance& before, const Disturbance& after, std::vector<std::string>& out) {
  if (!before.frequency_khz || !after.frequency_khz) return;
  const double from = static_cast<double>(*before.frequency_khz),
               to = static_cast<double>(*after.frequency_khz);
  // Below two per cent is what a locked clock shows as well.
  if (std::abs(from - to) > 0.02 * std::max(from, to))
    out.push_back(fmt::format("frequency {:.0f} to {:.0f} MHz", from / 1000, to / 1000));
}
} // namespace

Disturbance disturbance() {
  Disturbance now;
  now.cpu = ::sched_getcpu();
  const auto times = cpu_times();
  if (const auto it = times.find(now.cpu); it != times.end()) now.steal_ns = it->second.steal_ns;
  const auto& siblings = siblings_of(now.cpu);
  if (!siblings.empty()) now.sibling_busy_ns = 0;
  for (const int sibling : siblings) {
    if (const auto it = times.find(sibling); it != times.end()) *now.sibling_busy_ns += it->second.busy_ns;
  }
  now.throttled_ns = cgroup().throttled_ns;
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(now.cpu);
  now.thermal_events = base::read_number(folder + "/thermal_throttle/core_throttle_count");
  now.frequency_khz = base::read_number(folder + "/cpufreq/scaling_cur_freq");
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  now.involuntary_switches = usage.ru_nivcsw;
  now.waiting_ns = waiting_ns();
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  now.monotonic_ns = t.tv_sec * 1'000'000'000LL + t.tv_nsec;
  return now;
}

std::vector<std::string> flags(const Disturbance& before, const Disturbance& after) {
  std::vector<std::string> out;
  const std::int64_t passed = after.monotonic_ns - before.monotonic_ns;
  if (before.cpu != after.cpu) {
    out.emplace_back("migrated"); // the totals below are of two different CPUs: not comparable
  } else {
    if (before.steal_ns && after.steal_ns && *after.steal_ns > *before.steal_ns) {
      const std::int64_t lost = *after.steal_ns - *before.steal_ns;
      out.push_back(fmt::format("steal {} ms{}", lost / 1'000'000, share_text(lost, passed)));
    }
    if (before.sibling_busy_ns && after.sibling_busy_ns && passed > 0) {
      const auto percent = 100 * (*after.sibling_busy_ns - *before.sibling_busy_ns) / passed;
      if (percent >= 5) out.push_back(fmt::format("sibling busy {} %", percent));
    }
    if (before.thermal_events && after.thermal_events && *after.thermal_events > *before.thermal_events)
      out.emplace_back("thermal throttling");
    compare_frequency(before, after, out);
  }
  if (before.throttled_ns && after.throttled_ns && *after.throttled_ns > *before.throttled_ns) {
    const std::int64_t lost = *after.throttled_ns - *before.throttled_ns;
    out.push_back(
        fmt::format("throttled {:.3g} ms{}", static_cast<double>(lost) / 1e6, share_text(lost, passed)));
  }
  if (const auto switches = after.involuntary_switches - before.involuntary_switches; switches > 0)
    out.push_back(fmt::format("preempted {}{}", base::format_count(switches, "time"),
                              before.waiting_ns && after.waiting_ns
                                  ? share_text(*after.waiting_ns - *before.waiting_ns, passed)
                                  : std::string()));
  return out;
}

} // namespace recount::host
