#include "count/perf/errno_hints.hpp"

#include "base/host/cpu.hpp"
#include "base/host/event_class.hpp"
#include "base/host/sysctl.hpp"
#include "base/text.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/try_open.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <linux/hw_breakpoint.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace recount::perf {

// Current values of the settings named in errors.
namespace {

/// What a level means to a user without capabilities (kernel.perf_event_paranoid in
/// Documentation/admin-guide/sysctl/kernel.rst of Linux; level 3 is Debian's and Android's own).
const char* meaning(long long level) {
  if (level < 0) return "no restrictions";
  if (level == 0) return "all but raw tracepoints without CAP_PERFMON";
  if (level == 1) return "own processes, user and kernel, without CAP_PERFMON";
  if (level == 2) return "own processes, user mode only, without CAP_PERFMON";
  return "nothing without CAP_PERFMON, where the kernel knows this level";
}

} // namespace

std::string paranoid_setting() {
  std::string text = host::show_setting("kernel.perf_event_paranoid");
  if (const auto level = host::sysctl_number("kernel.perf_event_paranoid"))
    text += fmt::format(" ({})", meaning(*level));
  return text;
}

namespace {

std::string files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format("ulimit -n = {}, ulimit -Hn = {}", limit.rlim_cur, limit.rlim_max);
}

std::string pmu_list() {
  std::string names;
  for (const host::Pmu& pmu : event::pmus())
    names += " " + pmu.name;
  return "/sys/bus/event_source/devices contains" + (names.empty() ? " nothing" : names);
}

std::string confinement() {
  const host::Permission permission = host::permission();
  const char* modes[] = {"none", "strict", "a filter"};
  const bool known = permission.seccomp >= 0 && permission.seccomp <= 2;
  std::string text =
      fmt::format("seccomp = {}, container = {}", known ? modes[permission.seccomp] : "unknown",
                  permission.container.empty() ? "none seen" : permission.container);
  // "none [integrity] confidentiality": kernel_lockdown(7); the latter forbids reading the kernel by perf.
  if (const auto lockdown = base::read_trimmed("/sys/kernel/security/lockdown"))
    text += ", lockdown = " + *lockdown;
  if (const auto enforce = base::read_trimmed("/sys/fs/selinux/enforce"))
    text += *enforce == "1" ? ", SELinux = enforcing" : ", SELinux = permissive";
  return text + ", " + paranoid_setting();
}

std::string breakpoint_registers() {
#if defined(__x86_64__)
  return "debug registers of an x86 CPU = 4";
#else
  return {}; // depends on the CPU, and Linux does not report it
#endif
}

std::string online_cpu_list() {
  return "CPUs online = " + base::read_trimmed("/sys/devices/system/cpu/online").value_or("unknown");
}

constexpr auto mlock = [] { return host::show_setting("kernel.perf_event_mlock_kb"); };
constexpr auto all_files = [] { return host::show_setting("fs.file-max"); };
constexpr auto watchdog = [] { return host::show_setting("kernel.nmi_watchdog"); };
constexpr auto frequency = [] { return host::show_setting("kernel.perf_event_max_sample_rate"); };
constexpr auto stack = [] { return host::show_setting("kernel.perf_event_max_stack"); };

std::string filled(const char* words, const Situation& s) {
  return fmt::format(fmt::runtime(words), fmt::arg("event", s.event.name), fmt::arg("pmu", s.event.pmu),
                     fmt::arg("others", fmt::join(s.others, ", ")), fmt::arg("cpu", s.options.cpu),
                     fmt::arg("pid", s.options.pid));
}

/// " (EINVAL)"
std::string errno_name(int error) {
  const char* name = strerrorname_np(error);
  return fmt::format(" ({})", name == nullptr ? "errno " + std::to_string(error) : name);
}

ReasonCode code_for(int error) {
  switch (error) {
  case EACCES:
  case EPERM: return ReasonCode::permission;
  case ENOENT: return ReasonCode::no_event;
  case EOPNOTSUPP:
  case ENODEV:
  case ENOSYS: return ReasonCode::not_supported;
  case EINVAL:
  case E2BIG:
  case EOVERFLOW: return ReasonCode::bad_event;
  case EBUSY:
  case ENOSPC: return ReasonCode::busy;
  case EMFILE:
  case ENFILE:
  case ENOMEM: return ReasonCode::no_resources;
  case EINTR:
  case EAGAIN: return ReasonCode::interrupted;
  default: return ReasonCode::other;
  }
}

bool has_core_pmu() {
  return std::ranges::any_of(event::pmus(), &host::Pmu::core);
}

bool is_uncore(const Event& event) {
  return std::ranges::any_of(event::pmus(), [&](const host::Pmu& pmu) {
    return pmu.type == event.attr.type && !pmu.core() && !pmu.cpumask.empty();
  });
}

bool opens_alone(const Event& event, const GroupOptions& options) {
  perf_event_attr attr = event.attr;
  attr.disabled = 1;
  return static_cast<bool>(open_sized(attr, {options.pid, options.cpu, -1}).fd);
}

} // namespace

Error hint(const Situation& situation, int error) {
  for (const Hint& row : hints()) {
    if (row.number != error || row.operation != situation.operation) continue;
    if (row.when != nullptr && !row.when(situation)) continue;
    return {row.kind,
            {situation.event.name,
             Reason(filled(row.cause, situation) + errno_name(error),
                    row.setting == nullptr ? "" : row.setting(), filled(row.fix, situation),
                    row.cause == no_core_pmu ? ReasonCode::no_pmu : code_for(error), error)}};
  }
  return {ErrorKind::unavailable,
          {situation.event.name,
           Reason(std::strerror(error) + errno_name(error), {}, {}, code_for(error), error)}};
}

Error open_error(const Event& event, int error, const GroupOptions& options,
                 std::vector<std::string> others) {
  if (error == dead_class) return {ErrorKind::unavailable, {event.name, host::dead_reason(event.attr)}};
  Situation situation{
      Operation::open, event,          options,          std::move(others),
      false,           has_core_pmu(), is_uncore(event), host::sysctl_number("kernel.perf_event_paranoid")};
  if (!situation.others.empty()) situation.alone_opens = opens_alone(event, options);
  return hint(situation, error);
}

Error call_error(Operation operation, const Event& event, int error, const std::string& call) {
  const Error known = hint({operation, event}, error);
  return {known.kind(), {known.problem().subject, known.problem().about(call)}};
}

Error never_runs_error(const Event& event, const std::vector<std::string>& others) {
  const std::string setting = watchdog();
  const Reason why =
      others.empty()
          ? Reason("opened but never scheduled: all counters are in use", setting,
                   "stop other users of the PMU (perf, a profiler); the NMI watchdog also uses a counter: "
                   "sysctl -w kernel.nmi_watchdog=0 (as root)",
                   ReasonCode::busy)
          : Reason(
                fmt::format("the event group with {} opened but was never scheduled: too few free counters",
                            fmt::join(others, ", ")),
                setting, fix_of_group, ReasonCode::busy);
  return {ErrorKind::unavailable, {event.name, why}};
}

Error absent_error(const Event& event) {
  return {ErrorKind::unavailable,
          {event.name,
           Reason(fmt::format("{} is not a PMU of this machine ({}): its event code has another meaning here",
                              event.pmu, host::this_cpu().name),
                  pmu_list(), "recount events lists the available events", ReasonCode::no_event)}};
}

// The rows of hints(): data, after perf_event_open(2), its source (kernel/events/core.c) and trial.
namespace {

constexpr auto bad = ErrorKind::bad_input;
constexpr auto cannot = ErrorKind::unavailable;

constexpr auto everyone = [](const Situation& s) { return s.options.pid == -1; };
constexpr auto other = [](const Situation& s) { return s.options.pid > 0; };
constexpr auto with_kernel = [](const Situation& s) { return !s.event.attr.exclude_kernel; };
constexpr auto excludes = [](const Situation& s) {
  return s.event.attr.exclude_user || s.event.attr.exclude_kernel;
};
/// perf_event_paranoid allows it to everybody (perf_allow_kernel() and perf_allow_cpu() of Linux; level 2 is
/// the highest of a kernel without patches), so that another cause has refused it. What a process permits to
/// be observed does not depend on it.
constexpr auto permitted = [](const Situation& s) {
  const bool kernel = !s.event.attr.exclude_kernel;
  return !other(s) && s.paranoid && *s.paranoid <= (everyone(s) ? 0 : kernel ? 1 : 2);
};
constexpr auto samples = [](const Situation& s) {
  return s.event.attr.sample_period != 0 || s.event.attr.precise_ip != 0;
};
constexpr auto at_frequency = [](const Situation& s) { return s.event.attr.freq != 0; };
constexpr auto breakpoint = [](const Situation& s) { return s.event.attr.type == PERF_TYPE_BREAKPOINT; };
constexpr auto fits_alone = [](const Situation& s) { return !s.others.empty() && s.alone_opens; };
constexpr auto on_cpu = [](const Situation& s) { return s.options.cpu >= 0; };
constexpr auto inherits = [](const Situation& s) { return s.options.inherit; };
constexpr auto own_pmu_reports_domain = [](const Situation& s) {
  return s.event.domain_given && excludes(s) && s.event.attr.type > PERF_TYPE_BREAKPOINT;
};
bool core_missing(const Situation& s) {
  const auto type = s.event.attr.type;
  return !s.core_pmu && (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW);
}
/// Not the process is the cause, but the kernel, where the event occurs.
bool kernel_only(const Situation& s) {
  if (!host::occurs_in_kernel_only(s.event.attr)) return false;
  return !other(s) || open_sized(s.event.attr, {}).error == EACCES;
}
constexpr auto without_kernel = [](const Situation& s) {
  return other(s) && (s.event.attr.exclude_kernel || host::occurs_in_kernel_only(s.event.attr));
};
/// An uncore event counts what all cores do; it belongs to no process.
constexpr auto uncore_of_a_process = [](const Situation& s) { return s.options.pid != -1 && s.uncore; };
constexpr auto grouped = [](const Situation& s) { return !s.others.empty(); };
constexpr auto read_watch = [](const Situation& s) {
  return breakpoint(s) && s.event.attr.bp_type == HW_BREAKPOINT_R;
};
constexpr auto executes = [](const Situation& s) {
  return breakpoint(s) && s.event.attr.bp_type == HW_BREAKPOINT_X;
};

constexpr auto raise_paranoid =
    "sysctl -w kernel.perf_event_paranoid=0 (as root), or give the program the capability: "
    "setcap cap_perfmon+ep PROGRAM";

constexpr auto allow_the_call =
    "in a container start it with --cap-add PERFMON and a seccomp profile that allows perf_event_open "
    "(--security-opt seccomp=FILE)";

constexpr std::array rows{
    Hint{EACCES, Operation::open, permitted, cannot,
         "perf_event_open is forbidden here, though not by perf_event_paranoid: by a seccomp filter or a "
         "security module",
         confinement, allow_the_call},
    Hint{EACCES, Operation::open, everyone, cannot, "this user may not count all processes on CPU {cpu}",
         paranoid_setting, raise_paranoid},
    Hint{EACCES, Operation::open, kernel_only, cannot,
         "it occurs in the kernel, where this user may not count (user mode alone would count 0)",
         paranoid_setting,
         "sysctl -w kernel.perf_event_paranoid=1 (as root), or setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Operation::open, without_kernel, cannot, "this user may not observe process {pid}",
         paranoid_setting,
         "observe a process of your own; or run as root or with CAP_PERFMON: setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Operation::open, other, cannot,
         "this user may not observe process {pid} (or only its user mode)", paranoid_setting,
         "observe a process of your own, with :u; or run as root or with CAP_PERFMON: setcap cap_perfmon+ep "
         "PROGRAM"},
    Hint{EACCES, Operation::open, with_kernel, cannot, "this user may not count in the kernel",
         paranoid_setting,
         "append :u to the event to count user mode only; or sysctl -w kernel.perf_event_paranoid=1 "
         "(as root), "
         "or setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Operation::open, nullptr, cannot, "this user may not count events", paranoid_setting,
         "sysctl -w kernel.perf_event_paranoid=2 (as root), or setcap cap_perfmon+ep PROGRAM"},
    Hint{EPERM, Operation::open, excludes, cannot,
         "PMU {pmu} cannot exclude user or kernel mode, or a seccomp filter forbids perf_event_open",
         confinement,
         "drop :u or :k; in a container start it with --cap-add PERFMON and a seccomp profile that allows "
         "perf_event_open (--security-opt seccomp=FILE)"},
    Hint{EPERM, Operation::open, nullptr, cannot,
         "perf_event_open is forbidden here, by a seccomp filter, kernel lockdown or a security module",
         confinement, allow_the_call},
    Hint{EPERM, Operation::map, nullptr, cannot,
         "the ring buffer exceeds the locked-memory limit of this user", mlock,
         "use a smaller buffer, or sysctl -w kernel.perf_event_mlock_kb=4096 (as root)"},
    Hint{ENOENT, Operation::open, core_missing, cannot, no_core_pmu, pmu_list,
         "count software events (recount events --pmu perf), or give the machine a PMU (qemu/KVM: -cpu "
         "host,pmu=on)"},
    Hint{ENOENT, Operation::open, nullptr, cannot,
         "PMU {pmu} does not have this event, or there is no such PMU", pmu_list,
         "recount events lists the available events"},
    Hint{EOPNOTSUPP, Operation::open, samples, cannot,
         "PMU {pmu} cannot sample this event (no overflow interrupt, no precise sampling)", nullptr,
         "count it instead of sampling, or sample another event such as perf::CPU-CLOCK"},
    Hint{EOPNOTSUPP, Operation::open, nullptr, cannot,
         "PMU {pmu} does not support a feature requested by the event", nullptr,
         "drop its modifiers and try again; count instead of sampling"},
    Hint{EINVAL, Operation::open, fits_alone, cannot, "does not fit into one event group with {others}",
         nullptr, fix_of_group},
    Hint{EINVAL, Operation::open, uncore_of_a_process, cannot,
         "PMU {pmu} counts whole CPUs or packages and cannot count a process", nullptr,
         "recount stat -a -e {event} -- COMMAND; in a program, GroupOptions with pid = -1 and a CPU of "
         "/sys/bus/event_source/devices/{pmu}/cpumask"},
    Hint{EINVAL, Operation::open, own_pmu_reports_domain, bad,
         "PMU {pmu} cannot count user and kernel mode separately", nullptr,
         "remove :u or :k from the name: it counts both"},
    Hint{EINVAL, Operation::open, read_watch, cannot, "this CPU has no read-only breakpoints (x86 has none)",
         nullptr, "watch reads and writes: rw instead of r"},
    Hint{EINVAL, Operation::open, executes, bad, "not a valid execution breakpoint", nullptr,
         "omit the length, or use the size of a long (8 bytes on 64-bit machines)"},
    Hint{EINVAL, Operation::open, breakpoint, bad,
         "not a valid breakpoint: the address is not a multiple of the length", nullptr,
         "align the address, or use a shorter length (1, 2, 4 or 8)"},
    Hint{EINVAL, Operation::open, at_frequency, bad, "the sampling frequency exceeds the limit of the kernel",
         frequency, "use a lower frequency, or sysctl -w kernel.perf_event_max_sample_rate=N (as root)"},
    Hint{EINVAL, Operation::open, on_cpu, bad,
         "CPU {cpu} is not online, or the PMU does not know this configuration", online_cpu_list,
         "use an online CPU; recount events --encode {event} shows the configuration"},
    Hint{EINVAL, Operation::open, nullptr, bad, "PMU {pmu} does not know this configuration", nullptr,
         "recount events --encode {event} shows the configuration; try it without modifiers"},
    Hint{EINVAL, Operation::map, inherits, bad, "an inherited event needs one buffer per CPU", nullptr,
         "open it on each CPU (cpu >= 0), or without inherit"},
    Hint{EINVAL, Operation::map, nullptr, bad, "invalid buffer size", nullptr,
         "use one page plus a power of two of pages"},
    Hint{EMFILE, Operation::open, nullptr, cannot,
         "no file descriptors left in this process; each event needs one", files,
         "ulimit -Hn 65536 as root before the program starts; recount has raised the soft limit to the hard "
         "limit already"},
    Hint{ENFILE, Operation::open, nullptr, cannot, "no file descriptors left in the system", all_files,
         "sysctl -w fs.file-max=N (as root)"},
    Hint{ENOSPC, Operation::open, breakpoint, cannot, "all hardware breakpoints are in use",
         breakpoint_registers, "watch fewer addresses; a debugger on the same process also uses some"},
    Hint{ENOSPC, Operation::open, nullptr, cannot, "the PMU has no free counter for this event", nullptr,
         "count fewer events at once"},
    Hint{EBUSY, Operation::open, nullptr, cannot, "another event uses the PMU exclusively", nullptr,
         "stop the other user of the PMU (perf, a profiler, an exclusive group) and try again"},
    Hint{ENODEV, Operation::open, nullptr, cannot, "the CPU lacks a feature needed by the event", nullptr,
         "remove modifiers such as precise; recount doctor lists the features of the CPU"},
    Hint{E2BIG, Operation::open, grouped, cannot,
         "the event group is too large: the kernel limits what one read(2) of a group returns to 16 KiB",
         nullptr, fix_of_group},
    Hint{EINTR, Operation::open, nullptr, cannot,
         "a signal interrupted the call while it waited for process {pid} to finish execve(2)", nullptr,
         "try again"},
    Hint{EAGAIN, Operation::open, nullptr, cannot,
         "the kernel could not open it at this moment: the process or its PMU was changing", nullptr,
         "try again"},
    Hint{EAGAIN, Operation::map, nullptr, cannot, "no memory can be locked at this moment", mlock,
         "try again, or use a smaller buffer"},
    Hint{E2BIG, Operation::open, nullptr, cannot,
         "needs a field of perf_event_attr that is newer than this kernel, even after a retry with the "
         "kernel's size",
         nullptr, "use a newer kernel, or remove the modifiers that need the field"},
    Hint{ESRCH, Operation::open, nullptr, bad, "process {pid} has ended", nullptr,
         "attach while it runs, or start it stopped and attach then"},
    Hint{EOVERFLOW, Operation::open, nullptr, bad,
         "the requested call chain is deeper than the kernel allows", stack,
         "request fewer frames, or sysctl -w kernel.perf_event_max_stack=N (as root)"},
    Hint{ENOSYS, Operation::open, nullptr, cannot,
         "the kernel was built without perf_event_open, or a sandbox blocks it", confinement,
         "use a kernel with CONFIG_PERF_EVENTS"},
    Hint{ENOMEM, Operation::map, nullptr, cannot, "out of kernel memory for the ring buffer", mlock,
         "use a smaller buffer"},
};

} // namespace

std::span<const Hint> hints() {
  return rows;
}

} // namespace recount::perf
