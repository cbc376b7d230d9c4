#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host/disturbance.hpp"
#include "base/host/machine.hpp"
#include "base/host/sysctl.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "commands/doctor/doctor.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <range/v3/view/transform.hpp>
#include <sys/personality.h>

#include <algorithm>
#include <ranges>

// The machine: CPU, caches, clock, and sources of timing noise.
namespace recount::doctor {
namespace {
using State = Finding::State;
using namespace std::chrono_literals;

Finding cpu() {
  const auto& m = host::this_machine();
  std::string text =
      fmt::format("{} ({}), {}, {} per core, {}, {}{}{}", m.cpu.name, m.cpu.identity(),
                  base::format_count(m.cpus, "CPU"), base::format_count(m.threads_per_core, "thread"), m.os,
                  m.distribution, m.distribution.empty() ? "" : ", ", m.libc);
  return {State::note, "CPU", text};
}

Finding virtualisation() {
  const auto& m = host::this_machine();
  if (!m.virtualised()) return {State::works, "hypervisor", "none detected (bare metal)"};
  return {State::limited, "hypervisor",
          fmt::format("guest of {}: counters exist only if the host exposes them, and other guests "
                      "disturb timing",
                      m.hypervisor == "unknown" ? "an unnamed hypervisor" : m.hypervisor)};
}

std::string show(const host::Cache& c) {
  const std::string ways = c.ways < 0    ? "fully associative"
                           : c.ways == 0 ? "associativity unknown"
                                         : base::format_count(c.ways, "way");
  return fmt::format("{} {}, {}, {} B lines{}", c.name(), base::format_bytes(c.size), ways, c.line,
                     c.shared_by > 1 ? fmt::format(", shared by {} CPUs", c.shared_by) : "");
}

Finding caches() {
  const auto& all = host::this_machine().caches;
  if (all.empty())
    return {State::missing, "caches", "hwloc reports none with a size: neither sysfs nor CPUID lists them",
            "describe them: recount sweep --witness model:FILE.json, see recount-machines(5)"};
  return {State::works, "caches",
          fmt::format("as reported by hwloc: {}", fmt::join(all | ranges::views::transform(show), "; "))};
}

double clock_cost_ns() {
  constexpr int calls = 20'000;
  const std::int64_t begin = base::clock_ns(CLOCK_MONOTONIC_RAW);
  std::int64_t end = begin;
  for (int i = 0; i < calls; ++i)
    end = base::clock_ns(CLOCK_MONOTONIC_RAW);
  return static_cast<double>(end - begin) / calls;
}

Finding clock() {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  const std::string source = base::read_trimmed(folder + "current_clocksource").value_or("unknown");
  const double cost = clock_cost_ns();
  const std::string text = fmt::format("clock source {}, {:.0f} ns per reading", source, cost);
  if (cost < 200) return {State::works, "clock", text};
  const std::string available = base::read_trimmed(folder + "available_clocksource").value_or("");
  const bool tsc = source != "tsc" && available.find("tsc") != std::string::npos;
  return {State::limited, "clock", text + ", as slow as a system call",
          tsc ? "echo tsc | sudo tee " + folder + "current_clocksource" : ""};
}

Finding governor() {
  const auto& m = host::this_machine();
  if (m.governor.empty())
    return {State::note, "frequency", "the CPU frequency governor is unknown: no cpufreq in sysfs"};
  if (m.governor == "performance") return {State::works, "frequency", "governor performance"};
  return {State::limited, "frequency",
          fmt::format("governor {}: the core frequency may change during a measurement", m.governor),
          "sudo cpupower frequency-set -g performance"};
}

Finding memory() {
  const auto group = host::cgroup();
  const std::string limit =
      group.memory_limit ? fmt::format(", control group limit {}", base::format_bytes(*group.memory_limit))
                         : "";
  return {State::note, "memory",
          fmt::format("{} installed, {} available{}, page size {}",
                      base::format_bytes(host::this_machine().memory),
                      base::format_bytes(host::memory_available()), limit,
                      base::format_bytes(host::this_machine().page_size))};
}

Finding quota() {
  const auto group = host::cgroup();
  if (!group.cpus)
    return {State::works, "CPU quota", "none: this process is not throttled by a control group"};
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
    area.findings.push_back({State::limited, "affinity",
                             fmt::format("this process may run on CPUs {} only", fmt::join(allowed, ", "))});
  return area;
}

// PAPI: components, presets, and why presets cannot be counted.
namespace {

std::string list(const std::vector<std::string>& words, const char* none) {
  return words.empty() ? none : fmt::format("{}", fmt::join(words, ", "));
}

Finding components(const papi::Inventory& papi) {
  std::vector<std::string> on, off;
  for (const auto& c : papi.components)
    c.enabled ? on.push_back(c.name) : off.push_back(fmt::format("{} ({})", c.name, c.disabled_reason));
  return {State::note, "components",
          fmt::format("enabled: {}; disabled: {}", list(on, "none"), list(off, "none"))};
}

Finding presets(const papi::Inventory& papi) {
  const int counting = papi.presets_counting();
  const std::string claim = fmt::format(
      "PAPI lists {1} of {0} presets for this CPU ({2}); {3} can be started in a trial", papi.presets_known,
      papi.presets.size(), papi.core_pmu.empty() ? "no core PMU known to libpfm4" : papi.core_pmu, counting);
  if (counting == 0)
    return {
        State::missing, "presets",
        fmt::format("{}: {}", claim, fmt::join(papi.reasons | std::views::transform(&Reason::cause), "; ")),
        "count native software events, or provide a preset table: PAPI_CSV_EVENT_FILE=FILE"};
  if (static_cast<std::size_t>(counting) == papi.presets.size())
    return {State::works, "presets", claim + "; validate them with recount check"};
  return {State::limited, "presets", claim, "recount presets -a"};
}
} // namespace

Area examine_papi() {
  Area area{"PAPI"};
  try {
    const auto papi = papi::inventory();
    area.findings.push_back(
        {papi.software_events ? State::works : State::missing, "library",
         fmt::format("PAPI {}, table {}; software events {} through PAPI", papi.version, papi.table,
                     papi.software_events ? "are counted" : "are not counted")});
    area.findings.push_back(components(papi));
    area.findings.push_back(presets(papi));
    for (const auto& warning : papi.warnings)
      area.findings.push_back({State::limited, "settings", warning});
  } catch (const Error& e) {
    area.findings.push_back(
        {State::missing, "library", e.problem().subject + ": " + e.problem().cause, e.problem().fix});
  }
  return area;
}

// Permission: tested, not derived from the paranoid level, since distributions patch its meaning.
namespace {

/// What a process may observe, by opening a software event in each way.
struct Scope {
  bool user = false, kernel = false, cpu = false;
  std::string why, fix; ///< of the first refusal
};

bool opens(Domain domain, const GroupOptions& options, Scope& scope) {
  try {
    const Group group({"perf::TASK-CLOCK"}, domain, options);
    return true;
  } catch (const Error& e) {
    if (!scope.why.empty()) return false;
    scope.why = e.problem().cause;
    scope.fix = e.problem().fix;
    const long long needed = !scope.user ? 2 : scope.kernel ? 0 : 1;
    if (e.problem().error == EACCES && host::sysctl_number("kernel.perf_event_paranoid").value_or(4) > needed)
      scope.fix = fmt::format("sudo sysctl kernel.perf_event_paranoid={}", needed);
    return false;
  }
}

Scope try_scope() {
  Scope s;
  s.user = opens(Domain::user, {}, s);
  s.kernel = opens(Domain::all, {}, s);
  s.cpu = opens(Domain::all, {.pid = -1, .cpu = 0}, s);
  return s;
}

std::string describe(const Scope& s) {
  if (s.cpu) return "everything: whole CPUs, the kernel, own processes";
  if (s.kernel) return "own processes in user and kernel mode, but not whole CPUs";
  if (s.user) return "own processes in user mode only (events end in :u)";
  return "nothing: " + s.why;
}

/// The same as the user nobody, in a child. None when that cannot be tried.
std::optional<Scope> try_scope_unprivileged() {
  const auto got = process::in_fork(
      [](int fd) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) return 1;
        const Scope s = try_scope();
        const std::string text = fmt::format("{:d}{:d}{:d}{}\n{}", s.user, s.kernel, s.cpu, s.why, s.fix);
        return process::write_all(fd, text) ? 0 : 1;
      },
      10s);
  if (!got.exit.ok() || got.out.size() < 3) return {};
  const std::size_t line = std::min(got.out.find('\n'), got.out.size() - 1);
  return Scope{got.out[0] == '1', got.out[1] == '1', got.out[2] == '1', got.out.substr(3, line - 3),
               got.out.substr(line + 1)};
}

Finding scope(const std::string& who, const Scope& s) {
  const State state = s.cpu ? State::works : s.user ? State::limited : State::missing;
  return {
      state, who,
      fmt::format("can count {} (tested; {})", describe(s), host::show_setting("kernel.perf_event_paranoid")),
      s.fix};
}

Finding surroundings(const host::Permission& p) {
  const std::string filter = p.seccomp == 2 ? "a seccomp filter is active" : "no seccomp filter";
  if (p.container.empty()) return {State::note, "container", "none detected; " + filter};
  return {State::note, "container", fmt::format("running in a {} container; {}", p.container, filter),
          p.seccomp == 2 ? "if perf_event_open(2) fails with EPERM: start it with --cap-add PERFMON "
                           "--security-opt seccomp=unconfined"
                         : ""};
}

Finding addresses() {
  const auto got = process::in_fork(
      [](int) {
        const int now = ::personality(0xffffffffU);
        return now >= 0 && ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0 ? 0 : 1;
      },
      5s);
  if (got.exit.ok())
    return {State::works, "fixed addresses", "address randomisation can be disabled for measured processes"};
  return {State::limited, "fixed addresses", "personality(2) is refused: addresses differ between runs",
          "start the container with --security-opt seccomp=unconfined"};
}
} // namespace

Area examine_permission() {
  const auto p = host::permission();
  Area area{"Permission"};
  area.findings.push_back(scope(p.root ? "root (you)" : "you", try_scope()));
  if (p.root) {
    if (const auto s = try_scope_unprivileged()) area.findings.push_back(scope("an unprivileged user", *s));
  }
  area.findings.push_back(surroundings(p));
  area.findings.push_back(addresses());
  return area;
}

// Figures: gnuplot, its terminals, the font.
namespace {

Finding gnuplot() {
  const std::string fix = "sudo apt-get install gnuplot-nox";
  if (!process::find_program("gnuplot"))
    return {State::missing, "gnuplot", "not found in PATH: sweeps work, figures cannot be drawn", fix};
  try {
    const auto version = process::capture({.argv = {"gnuplot", "--version"}}, {}, 10s);
    const auto got =
        process::capture({.argv = {"gnuplot", "-e", "set print '-'; print GPVAL_TERMINALS"}}, {}, 10s);
    const auto have = base::split(base::trim(got.out), ' ');
    std::vector<std::string> present, absent;
    for (const std::string wanted : {"pdfcairo", "svg", "pngcairo", "tikz", "cairolatex", "dumb"})
      (std::find(have.begin(), have.end(), wanted) != have.end() ? present : absent).push_back(wanted);
    const std::string name(base::trim(version.out));
    if (absent.empty())
      return {State::works, "gnuplot", fmt::format("{} with {}", name, fmt::join(present, ", "))};
    return {State::limited, "gnuplot", fmt::format("{} lacks {}", name, fmt::join(absent, ", ")), fix};
  } catch (const Error& e) {
    return {State::missing, "gnuplot", e.problem().cause, fix};
  }
}

Finding font() {
  const std::string wanted = "Liberation Sans", fix = "sudo apt-get install fonts-liberation";
  if (!process::find_program("fc-match"))
    return {State::note, "font", "fc-match is not installed, so it is unknown whether " + wanted + " is",
            "sudo apt-get install fontconfig"};
  try {
    const auto got = process::capture({.argv = {"fc-match", "-f", "%{family[0]}", wanted}}, {}, 10s);
    if (base::trim(got.out) == wanted) return {State::works, "font", wanted + " is installed"};
    return {State::limited, "font",
            fmt::format("{} is not installed; figures use {}", wanted, base::trim(got.out)), fix};
  } catch (const Error& e) {
    return {State::limited, "font", e.problem().cause, fix};
  }
}
} // namespace

Area examine_figures() {
  return {"Figures", {gnuplot(), font()}};
}

} // namespace recount::doctor
