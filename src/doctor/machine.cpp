// The machine: CPU, caches, clock, and sources of timing noise.
#include "host/machine.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "command/output.hpp"
#include "doctor/doctor.hpp"
#include "host/disturbance.hpp"
#include "host/sysctl.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

namespace recount::doctor {
namespace {
using State = Finding::State;

Finding cpu() {
  const auto& m = host::this_machine();
  std::string text =
      fmt::format("{} ({}), {}, {} per core, {}, {}{}{}", m.cpu.name, m.cpu.identity(),
                  base::format_count(m.cpus, "CPU"), base::format_count(m.threads_per_core, "thread"), m.os,
                  m.distribution, m.distribution.empty() ? "" : ", ", m.libc);
  return {State::note, "CPU", text, {}};
}

Finding virtualisation() {
  const auto& m = host::this_machine();
  if (!m.virtualised()) return {State::works, "hypervisor", "none detected (bare metal)", {}};
  return {State::limited,
          "hypervisor",
          fmt::format("guest of {}: counters exist only if the host exposes them, and other guests "
                      "disturb timing",
                      m.hypervisor == "unknown" ? "an unnamed hypervisor" : m.hypervisor),
          {}};
}

std::string show(const host::Cache& c) {
  const std::string ways = c.ways < 0    ? "fully associative"
                           : c.ways == 0 ? "associativity unknown"
                                         : base::format_count(c.ways, "way");
  return fmt::format("{} {}, {}, {} B lines{}", c.name(), base::format_bytes(c.size), ways, c.line,
                     c.shared_by > 1 ? fmt::format(", shared by {} CPUs", c.shared_by) : "");
}

Finding caches() {
  std::vector<std::string> shown;
  for (const auto& c : host::this_machine().caches)
    shown.push_back(show(c));
  if (shown.empty())
    return {State::missing, "caches", "hwloc reports none with a size: neither sysfs nor CPUID lists them",
            "describe them: recount sweep --witness model:FILE.json, see recount-machines(5)"};
  return {State::works, "caches", fmt::format("as reported by hwloc: {}", fmt::join(shown, "; ")), {}};
}

double clock_cost_ns() {
  timespec before{}, after{}, now{};
  constexpr int calls = 20'000;
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &before);
  for (int i = 0; i < calls; ++i)
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &after);
  return (static_cast<double>(after.tv_sec - before.tv_sec) * 1e9 +
          static_cast<double>(after.tv_nsec - before.tv_nsec)) /
         calls;
}

Finding clock() {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  const std::string source = base::read_line(folder + "current_clocksource").value_or("unknown");
  const double cost = clock_cost_ns();
  const std::string text = fmt::format("clock source {}, {:.0f} ns per reading", source, cost);
  if (cost < 200) return {State::works, "clock", text, {}};
  const std::string available = base::read_line(folder + "available_clocksource").value_or("");
  const bool tsc = available.find("tsc") != std::string::npos;
  return {State::limited, "clock", text + ", as slow as a system call",
          tsc ? "echo tsc | sudo tee " + folder + "current_clocksource" : ""};
}

Finding governor() {
  const auto& m = host::this_machine();
  if (m.governor.empty())
    return {State::note, "frequency", "the CPU frequency governor is unknown: no cpufreq in sysfs", {}};
  if (m.governor == "performance") return {State::works, "frequency", "governor performance", {}};
  return {State::limited, "frequency",
          fmt::format("governor {}: the core frequency may change during a measurement", m.governor),
          "sudo cpupower frequency-set -g performance"};
}

Finding memory() {
  const auto group = host::cgroup();
  const std::string limit =
      group.memory_limit ? fmt::format(", control group limit {}", base::format_bytes(*group.memory_limit))
                         : "";
  return {State::note,
          "memory",
          fmt::format("{} installed, {} available{}, page size {}",
                      base::format_bytes(host::this_machine().memory),
                      base::format_bytes(host::memory_available()), limit,
                      base::format_bytes(host::this_machine().page_size)),
          {}};
}

Finding quota() {
  const auto group = host::cgroup();
  if (!group.cpus)
    return {State::works, "CPU quota", "none: this process is not throttled by a control group", {}};
  return {
      State::limited, "CPU quota",
      fmt::format(
          "the control group is limited to {:.3g} CPUs and throttled beyond that, which disturbs timing{}",
          *group.cpus,
          group.throttled_periods
              ? fmt::format(" (throttled {} so far)", base::format_count(*group.throttled_periods, "time"))
              : ""),
      "start the container without --cpus"};
}
} // namespace

Area examine_machine() {
  Area area{"Machine", {cpu(), virtualisation(), caches(), memory(), clock(), governor(), quota()}};
  const auto& allowed = host::this_machine().allowed_cpus;
  if (!allowed.empty() && static_cast<int>(allowed.size()) < host::this_machine().cpus)
    area.findings.push_back({State::limited,
                             "affinity",
                             fmt::format("this process may run on CPUs {} only", fmt::join(allowed, ", ")),
                             {}});
  return area;
}

} // namespace recount::doctor
