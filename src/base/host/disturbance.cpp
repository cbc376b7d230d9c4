#include "base/host/disturbance.hpp"

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/host/machine.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

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

const std::vector<int>& read_siblings(int cpu) {
  thread_local std::map<int, std::vector<int>> known;
  const auto [it, fresh] = known.try_emplace(cpu);
  if (fresh) it->second = smt_siblings(cpu);
  return it->second;
}

/// `text` with the share of the time between the two, where it is known: "steal 20 ms (2.1 %)".
Flag loss(Flag::Kind kind, std::string text, std::optional<std::int64_t> lost_ns, std::int64_t passed_ns) {
  if (!lost_ns || passed_ns <= 0) return {kind, std::move(text)};
  const double percent =
      100 * std::clamp(static_cast<double>(*lost_ns) / static_cast<double>(passed_ns), 0.0, 1.0);
  return {kind, fmt::format("{} ({:.3g} %)", text, percent), percent};
}

/// Time in the run queue: run_delay of the kernel's Documentation/scheduler/sched-stats.rst.
std::optional<std::int64_t> waiting_ns() {
  std::istringstream fields(base::read_file("/proc/thread-self/schedstat").value_or(""));
  std::int64_t running = 0, waiting = 0;
  if (!(fields >> running >> waiting)) return {};
  return waiting;
}

void compare_frequency(const Disturbance& before, const Disturbance& after, std::vector<Flag>& out) {
  if (!before.frequency_khz || !after.frequency_khz) return;
  const double from = static_cast<double>(*before.frequency_khz),
               to = static_cast<double>(*after.frequency_khz);
  // Below two per cent is what a locked clock shows as well.
  if (std::abs(from - to) > 0.02 * std::max(from, to))
    out.emplace_back(Flag::Kind::frequency,
                     fmt::format("frequency {:.0f} to {:.0f} MHz", from / 1000, to / 1000),
                     100 * std::abs(from - to) / std::max(from, to));
}
} // namespace

Disturbance disturbance() {
  Disturbance now;
  now.cpu = ::sched_getcpu();
  const auto times = cpu_times();
  if (const auto it = times.find(now.cpu); it != times.end()) now.steal_ns = it->second.steal_ns;
  const auto& siblings = read_siblings(now.cpu);
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
  now.monotonic_ns = base::clock_ns(CLOCK_MONOTONIC_RAW);
  return now;
}

std::vector<Flag> flags(const Disturbance& before, const Disturbance& after) {
  std::vector<Flag> out;
  if (this_emulation().clock) return out; // what happens to this machine changes nothing there
  const std::int64_t passed = after.monotonic_ns - before.monotonic_ns;
  if (before.cpu != after.cpu) {
    out.emplace_back(Flag::Kind::migrated,
                     "migrated"); // the totals below are of two different CPUs: not comparable
  } else {
    if (before.steal_ns && after.steal_ns && *after.steal_ns > *before.steal_ns) {
      const std::int64_t lost = *after.steal_ns - *before.steal_ns;
      out.push_back(loss(Flag::Kind::steal, fmt::format("steal {} ms", lost / 1'000'000), lost, passed));
    }
    if (before.sibling_busy_ns && after.sibling_busy_ns && passed > 0) {
      const auto percent = 100 * (*after.sibling_busy_ns - *before.sibling_busy_ns) / passed;
      if (percent >= 5) out.emplace_back(Flag::Kind::sibling_busy, fmt::format("sibling busy {} %", percent));
    }
    if (before.thermal_events && after.thermal_events && *after.thermal_events > *before.thermal_events)
      out.emplace_back(Flag::Kind::thermal, "thermal throttling");
    compare_frequency(before, after, out);
  }
  if (before.throttled_ns && after.throttled_ns && *after.throttled_ns > *before.throttled_ns) {
    const std::int64_t lost = *after.throttled_ns - *before.throttled_ns;
    out.push_back(loss(Flag::Kind::throttled,
                       fmt::format("throttled {:.3g} ms", static_cast<double>(lost) / 1e6), lost, passed));
  }
  if (const auto switches = after.involuntary_switches - before.involuntary_switches; switches > 0)
    out.push_back(loss(Flag::Kind::preempted, "preempted " + base::format_count(switches, "time"),
                       before.waiting_ns && after.waiting_ns
                           ? std::optional(*after.waiting_ns - *before.waiting_ns)
                           : std::nullopt,
                       passed));
  return out;
}

namespace {

/// No limit is written as "max" in version 2, as a number near 2^63 in version 1.
constexpr long long no_limit = std::numeric_limits<long long>::max() / 2;

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

std::optional<std::int64_t> field(const std::string& path, const std::string& key) {
  std::istringstream lines(base::read_file(path).value_or(""));
  std::string name;
  std::int64_t value = 0;
  while (lines >> name >> value) {
    if (name == key) return value;
  }
  return {};
}

void read_memory(Cgroup& group, const std::string& limit_file, const std::string& usage_file) {
  const auto limit = base::read_number(limit_file);
  if (!limit || *limit >= no_limit || (group.memory_limit && *group.memory_limit <= *limit)) return;
  group.memory_limit = *limit;
  if (const auto used = base::read_number(usage_file)) group.memory_used = *used;
}

void read_v2(Cgroup& group, const std::string& folder) {
  read_memory(group, folder + "/memory.max", folder + "/memory.current");
  std::istringstream cpu(base::read_file(folder + "/cpu.max").value_or(""));
  double quota = 0, period = 0;
  if (cpu >> quota >> period && period > 0) tighten(group.cpus, std::optional(quota / period));
  const auto periods = field(folder + "/cpu.stat", "nr_throttled");
  const auto microseconds = field(folder + "/cpu.stat", "throttled_usec");
  if (periods && !group.throttled_periods) group.throttled_periods = periods;
  if (microseconds && !group.throttled_ns) group.throttled_ns = *microseconds * 1000;
}

void read_v1_cpu(Cgroup& group, const std::string& folder) {
  const auto quota = base::read_number(folder + "/cpu.cfs_quota_us");
  const auto period = base::read_number(folder + "/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0)
    tighten(group.cpus, std::optional(static_cast<double>(*quota) / static_cast<double>(*period)));
  const auto periods = field(folder + "/cpu.stat", "nr_throttled");
  const auto nanoseconds = field(folder + "/cpu.stat", "throttled_time");
  if (periods && !group.throttled_periods) group.throttled_periods = periods;
  if (nanoseconds && !group.throttled_ns) group.throttled_ns = nanoseconds;
}

/// Calls `visit` for the group's folder and every one above it. Inside a container the path of
/// /proc/self/cgroup may lie outside what is mounted: the missing folders simply read as nothing.
template <class Visit>
void upwards(const std::string& root, std::string path, Visit visit) {
  while (true) {
    while (!path.empty() && path.back() == '/')
      path.pop_back();
    visit(root + path);
    if (path.empty()) return;
    path.erase(path.rfind('/'));
  }
}
} // namespace

Cgroup cgroup(const std::string& root, const std::string& membership) {
  Cgroup group;
  for (const auto line : base::split(membership, '\n')) { // "ID:controllers:path"
    const auto fields = base::split(line, ':');
    if (fields.size() < 3) continue;
    const std::string path(line.substr(fields[0].size() + fields[1].size() + 2));
    const auto names = base::split(fields[1], ',');
    const auto has = [&](std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (fields[1].empty()) upwards(root, path, [&](const std::string& f) { read_v2(group, f); });
    if (has("memory"))
      upwards(root + "/memory", path, [&](const std::string& f) {
        read_memory(group, f + "/memory.limit_in_bytes", f + "/memory.usage_in_bytes");
      });
    if (has("cpu")) {
      for (const auto* mount : {"/cpu", "/cpu,cpuacct"})
        upwards(root + mount, path, [&](const std::string& f) { read_v1_cpu(group, f); });
    }
  }
  return group;
}

Cgroup cgroup() {
  return cgroup("/sys/fs/cgroup", base::read_file("/proc/self/cgroup").value_or(""));
}

std::int64_t memory_available() {
  const std::string stated = value_in("/proc/meminfo", "MemAvailable:");
  std::int64_t available =
      stated.empty() ? std::numeric_limits<std::int64_t>::max() : std::stoll(stated) * 1024;
  const Cgroup group = cgroup();
  if (group.memory_limit)
    available =
        std::min(available, std::max<std::int64_t>(0, *group.memory_limit - group.memory_used.value_or(0)));
  return available;
}

} // namespace recount::host
