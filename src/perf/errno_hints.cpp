#include "perf/errno_hints.hpp"

#include "base/text.hpp"
#include "event/sysfs.hpp"
#include "host/event_class.hpp"
#include "host/machine.hpp"
#include "host/sysctl.hpp"
#include "perf/try_open.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <linux/hw_breakpoint.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace recount::perf {
namespace {

void fill(std::string& text, const std::string& place, const std::string& with) {
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + with.size()))
    text.replace(at, place.size(), with);
}

std::string filled(const char* words, const Situation& s) {
  std::string text = words;
  fill(text, "{event}", s.event.name);
  fill(text, "{pmu}", s.event.pmu);
  fill(text, "{beside}", fmt::format("{}", fmt::join(s.beside, ", ")));
  fill(text, "{cpu}", std::to_string(s.options.cpu));
  fill(text, "{pid}", std::to_string(s.options.pid));
  return text;
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
  const auto& all = event::pmus();
  return std::any_of(all.begin(), all.end(), [](const host::Pmu& pmu) { return pmu.core(); });
}

bool is_uncore(const Event& event) {
  const auto& all = event::pmus();
  return std::any_of(all.begin(), all.end(), [&](const host::Pmu& pmu) {
    return pmu.type == event.attr.type && !pmu.core() && !pmu.cpumask.empty();
  });
}

bool opens_alone(const Event& event, const GroupOptions& options) {
  perf_event_attr attr = event.attr;
  attr.disabled = 1;
  return static_cast<bool>(open_leader(attr, {options.pid, options.cpu, -1}).fd);
}

} // namespace

Error hint(const Situation& situation, int error) {
  for (const Hint& row : hints()) {
    if (row.number != error || row.operation != situation.operation) continue;
    if (row.when != nullptr && !row.when(situation)) continue;
    return {row.kind,
            {situation.event.name,
             Reason(filled(row.cause, situation) + errno_name(error), show(row.setting),
                    filled(row.fix, situation),
                    row.cause == no_core_pmu ? ReasonCode::no_pmu : code_for(error), error)}};
  }
  return {ErrorKind::unavailable,
          {situation.event.name,
           Reason(std::strerror(error) + errno_name(error), {}, {}, code_for(error), error)}};
}

Error open_error(const Event& event, int error, const GroupOptions& options,
                 std::vector<std::string> beside) {
  if (error == dead_class) return {ErrorKind::unavailable, {event.name, host::dead_reason(event.attr)}};
  Situation situation{Operation::open, event,          options,         std::move(beside),
                      false,           has_core_pmu(), is_uncore(event)};
  if (!situation.beside.empty()) situation.alone_opens = opens_alone(event, options);
  return hint(situation, error);
}

Error call_error(Operation operation, const Event& event, int error, const std::string& call) {
  const Error known = hint({operation, event}, error);
  return {known.kind(), {known.problem().subject, known.problem().about(call)}};
}

Error never_runs_error(const Event& event, const std::vector<std::string>& beside) {
  const std::string setting = show(Setting::watchdog);
  const Reason why =
      beside.empty()
          ? Reason("opened but never scheduled: all counters are in use", setting,
                   "stop other users of the PMU (perf, a profiler); the NMI watchdog also uses a counter: "
                   "sysctl -w kernel.nmi_watchdog=0 (as root)",
                   ReasonCode::busy)
          : Reason(
                fmt::format("the event group with {} opened but was never scheduled: too few free counters",
                            fmt::join(beside, ", ")),
                setting, "count it in another group: class Counters splits events into groups",
                ReasonCode::busy);
  return {ErrorKind::unavailable, {event.name, why}};
}

Error absent_error(const Event& event) {
  return {ErrorKind::unavailable,
          {event.name,
           Reason(fmt::format("{} is not a PMU of this machine ({}): its event code has another meaning here",
                              event.pmu, host::this_machine().cpu.name),
                  show(Setting::pmus), "recount events lists the available events", ReasonCode::no_event)}};
}

// The rows of hints(): data, after perf_event_open(2), its source (kernel/events/core.c) and trial.
namespace {

constexpr auto bad = ErrorKind::bad_input;
constexpr auto cannot = ErrorKind::unavailable;

bool everyone(const Situation& s) {
  return s.options.pid == -1;
}
bool other(const Situation& s) {
  return s.options.pid > 0;
}
bool with_kernel(const Situation& s) {
  return !s.event.attr.exclude_kernel;
}
bool excludes(const Situation& s) {
  return s.event.attr.exclude_user || s.event.attr.exclude_kernel;
}
bool samples(const Situation& s) {
  return s.event.attr.sample_period != 0 || s.event.attr.precise_ip != 0 ||
         s.event.attr.branch_sample_type != 0;
}
bool at_frequency(const Situation& s) {
  return s.event.attr.freq != 0;
}
bool breakpoint(const Situation& s) {
  return s.event.attr.type == PERF_TYPE_BREAKPOINT;
}
bool beside(const Situation& s) {
  return !s.beside.empty() && s.alone_opens;
}
bool on_cpu(const Situation& s) {
  return s.options.cpu >= 0;
}
bool inherits(const Situation& s) {
  return s.options.inherit;
}
bool own_pmu_reports_domain(const Situation& s) {
  return s.event.domain_given && excludes(s) && s.event.attr.type > PERF_TYPE_BREAKPOINT;
}
bool core_missing(const Situation& s) {
  const auto type = s.event.attr.type;
  return !s.core_pmu && (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW);
}
/// Not the process is the cause, but the kernel, where the event occurs.
bool kernel_only(const Situation& s) {
  if (!host::occurs_in_kernel_only(s.event.attr)) return false;
  return !other(s) || open_sized(s.event.attr, {}).error == EACCES;
}
bool without_kernel(const Situation& s) {
  return other(s) && (s.event.attr.exclude_kernel || host::occurs_in_kernel_only(s.event.attr));
}
/// An uncore event counts what all cores do; it belongs to no process.
bool uncore_of_a_process(const Situation& s) {
  return s.options.pid != -1 && s.uncore;
}
bool grouped(const Situation& s) {
  return !s.beside.empty();
}
bool read_watch(const Situation& s) {
  return breakpoint(s) && s.event.attr.bp_type == HW_BREAKPOINT_R;
}
bool executes(const Situation& s) {
  return breakpoint(s) && s.event.attr.bp_type == HW_BREAKPOINT_X;
}

constexpr auto raise_paranoid =
    "sysctl -w kernel.perf_event_paranoid=0 (as root), or give the program the capability: "
    "setcap cap_perfmon+ep PROGRAM";

constexpr std::array rows{
    Hint{EACCES, Operation::open, everyone, cannot, "this user may not count all processes on CPU {cpu}",
         Setting::paranoid, raise_paranoid},
    Hint{EACCES, Operation::open, kernel_only, cannot,
         "it occurs in the kernel, where this user may not count (user mode alone would count 0)",
         Setting::paranoid,
         "sysctl -w kernel.perf_event_paranoid=1 (as root), or setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Operation::open, without_kernel, cannot, "this user may not observe process {pid}",
         Setting::paranoid,
         "observe a process of your own; or run as root or with CAP_PERFMON: setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Operation::open, other, cannot,
         "this user may not observe process {pid} (or only its user mode)", Setting::paranoid,
         "observe a process of your own, with :u; or run as root or with CAP_PERFMON: setcap cap_perfmon+ep "
         "PROGRAM"},
    Hint{EACCES, Operation::open, with_kernel, cannot, "this user may not count in the kernel",
         Setting::paranoid,
         "append :u to the event to count user mode only; or sysctl -w kernel.perf_event_paranoid=1 "
         "(as root), "
         "or setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Operation::open, nullptr, cannot, "this user may not count events", Setting::paranoid,
         "sysctl -w kernel.perf_event_paranoid=2 (as root), or setcap cap_perfmon+ep PROGRAM"},
    Hint{EPERM, Operation::open, excludes, cannot,
         "PMU {pmu} cannot exclude user or kernel mode, or a seccomp filter forbids perf_event_open",
         Setting::confinement,
         "drop :u or :k; in a container start it with --cap-add PERFMON and a seccomp profile that allows "
         "perf_event_open (--security-opt seccomp=FILE)"},
    Hint{EPERM, Operation::open, nullptr, cannot,
         "perf_event_open is forbidden here, by a seccomp filter, kernel lockdown or a security module",
         Setting::confinement,
         "in a container start it with --cap-add PERFMON and a seccomp profile that allows perf_event_open "
         "(--security-opt seccomp=FILE)"},
    Hint{EPERM, Operation::map, nullptr, cannot,
         "the ring buffer exceeds the locked-memory limit of this user", Setting::mlock,
         "use a smaller buffer, or sysctl -w kernel.perf_event_mlock_kb=4096 (as root)"},
    Hint{ENOENT, Operation::open, core_missing, cannot, no_core_pmu, Setting::pmus,
         "count software events (recount events --pmu perf), or give the machine a PMU (qemu/KVM: -cpu "
         "host,pmu=on)"},
    Hint{ENOENT, Operation::open, nullptr, cannot,
         "PMU {pmu} does not have this event, or there is no such PMU", Setting::pmus,
         "recount events lists the available events"},
    Hint{EOPNOTSUPP, Operation::open, samples, cannot,
         "PMU {pmu} cannot sample this event (no overflow interrupt, no precise sampling, no branch stack)",
         Setting::none, "count it instead of sampling, or sample another event such as perf::CPU-CLOCK"},
    Hint{EOPNOTSUPP, Operation::open, nullptr, cannot,
         "PMU {pmu} does not support a feature requested by the event", Setting::none,
         "drop its modifiers and try again; count instead of sampling"},
    Hint{EINVAL, Operation::open, beside, cannot, "does not fit into one event group with {beside}",
         Setting::none, "count it in another group: class Counters splits events into groups"},
    Hint{EINVAL, Operation::open, uncore_of_a_process, cannot,
         "PMU {pmu} counts whole CPUs or packages and cannot count a process", Setting::none,
         "recount stat -a -e {event} -- COMMAND; in a program, GroupOptions with pid = -1 and a CPU of "
         "/sys/bus/event_source/devices/{pmu}/cpumask"},
    Hint{EINVAL, Operation::open, own_pmu_reports_domain, bad,
         "PMU {pmu} cannot count user and kernel mode separately", Setting::none,
         "remove :u or :k from the name: it counts both"},
    Hint{EINVAL, Operation::open, read_watch, cannot, "this CPU has no read-only breakpoints (x86 has none)",
         Setting::none, "watch reads and writes: rw instead of r"},
    Hint{EINVAL, Operation::open, executes, bad, "not a valid execution breakpoint", Setting::none,
         "omit the length, or use the size of a long (8 bytes on 64-bit machines)"},
    Hint{EINVAL, Operation::open, breakpoint, bad,
         "not a valid breakpoint: the address is not a multiple of the length", Setting::none,
         "align the address, or use a shorter length (1, 2, 4 or 8)"},
    Hint{EINVAL, Operation::open, at_frequency, bad, "the sampling frequency exceeds the limit of the kernel",
         Setting::frequency,
         "use a lower frequency, or sysctl -w kernel.perf_event_max_sample_rate=N (as root)"},
    Hint{EINVAL, Operation::open, on_cpu, bad,
         "CPU {cpu} is not online, or the PMU does not know this configuration", Setting::cpus,
         "use an online CPU; recount events --encode {event} shows the configuration"},
    Hint{EINVAL, Operation::open, nullptr, bad, "PMU {pmu} does not know this configuration", Setting::none,
         "recount events --encode {event} shows the configuration; try it without modifiers"},
    Hint{EINVAL, Operation::map, inherits, bad, "an inherited event needs one buffer per CPU", Setting::none,
         "open it on each CPU (cpu >= 0), or without inherit"},
    Hint{EINVAL, Operation::map, nullptr, bad, "invalid buffer size", Setting::none,
         "use one page plus a power of two of pages"},
    Hint{EMFILE, Operation::open, nullptr, cannot,
         "no file descriptors left in this process; each event needs one", Setting::files,
         "ulimit -Hn 65536 as root before the program starts; recount has raised the soft limit to the hard "
         "limit already"},
    Hint{ENFILE, Operation::open, nullptr, cannot, "no file descriptors left in the system",
         Setting::all_files, "sysctl -w fs.file-max=N (as root)"},
    Hint{ENOSPC, Operation::open, breakpoint, cannot, "all hardware breakpoints are in use",
         Setting::breakpoints, "watch fewer addresses; a debugger on the same process also uses some"},
    Hint{ENOSPC, Operation::open, nullptr, cannot, "the PMU has no free counter for this event",
         Setting::none, "count fewer events at once"},
    Hint{ENOSPC, Operation::read, nullptr, cannot, "the buffer is too small for the group's read_format",
         Setting::none, "use a buffer of Layout::words"},
    Hint{EBUSY, Operation::open, nullptr, cannot, "another event uses the PMU exclusively", Setting::none,
         "stop the other user of the PMU (perf, a profiler, an exclusive group) and try again"},
    Hint{ENODEV, Operation::open, nullptr, cannot, "the CPU lacks a feature needed by the event",
         Setting::none, "remove modifiers such as precise; recount doctor lists the features of the CPU"},
    Hint{E2BIG, Operation::open, grouped, cannot,
         "the event group is too large: the kernel limits what one read(2) of a group returns to 16 KiB",
         Setting::none, "count it in another group: class Counters splits events into groups"},
    Hint{EINTR, Operation::open, nullptr, cannot,
         "a signal interrupted the call while it waited for process {pid} to finish execve(2)", Setting::none,
         "try again"},
    Hint{EINTR, Operation::read, nullptr, cannot, "a signal interrupted the call", Setting::none,
         "try again"},
    Hint{EAGAIN, Operation::open, nullptr, cannot,
         "the kernel could not open it at this moment: the process or its PMU was changing", Setting::none,
         "try again"},
    Hint{EAGAIN, Operation::map, nullptr, cannot, "no memory can be locked at this moment", Setting::mlock,
         "try again, or use a smaller buffer"},
    Hint{EFAULT, Operation::open, nullptr, bad, "the kernel could not read perf_event_attr at its address",
         Setting::none, "pass a perf_event_attr that is mapped and large enough for its size field"},
    Hint{E2BIG, Operation::open, nullptr, cannot,
         "needs a field of perf_event_attr that is newer than this kernel, even after a retry with the "
         "kernel's size",
         Setting::none, "use a newer kernel, or remove the modifiers that need the field"},
    Hint{EBADF, Operation::open, nullptr, bad, "the group's leader is not an open event", Setting::none,
         "open the leader first and keep it open while the group is in use"},
    Hint{EBADF, Operation::read, nullptr, bad, "the event has been closed", Setting::none,
         "keep the group open while it is read"},
    Hint{ESRCH, Operation::open, nullptr, bad, "process {pid} has ended", Setting::none,
         "attach while it runs, or start it stopped and attach then"},
    Hint{EOVERFLOW, Operation::open, nullptr, bad,
         "the requested call chain is deeper than the kernel allows", Setting::stack,
         "request fewer frames, or sysctl -w kernel.perf_event_max_stack=N (as root)"},
    Hint{ENOSYS, Operation::open, nullptr, cannot,
         "the kernel was built without perf_event_open, or a sandbox blocks it", Setting::confinement,
         "use a kernel with CONFIG_PERF_EVENTS"},
    Hint{ENOMEM, Operation::open, nullptr, cannot, "out of kernel memory", Setting::none,
         "count fewer events"},
    Hint{ENOMEM, Operation::map, nullptr, cannot, "out of kernel memory for the ring buffer", Setting::mlock,
         "use a smaller buffer"},
};

} // namespace

std::span<const Hint> hints() {
  return rows;
}

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

std::string paranoid() {
  std::string text = host::show_setting("kernel.perf_event_paranoid");
  if (const auto level = host::sysctl_number("kernel.perf_event_paranoid"))
    text += fmt::format(" ({})", meaning(*level));
  return text;
}

std::string files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format("ulimit -n = {}, ulimit -Hn = {}", limit.rlim_cur, limit.rlim_max);
}

std::string pmus() {
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
  if (const auto lockdown = base::read_line("/sys/kernel/security/lockdown"))
    text += ", lockdown = " + *lockdown;
  if (const auto enforce = base::read_line("/sys/fs/selinux/enforce"))
    text += *enforce == "1" ? ", SELinux = enforcing" : ", SELinux = permissive";
  return text + ", " + paranoid();
}

} // namespace

std::string show(Setting setting) {
  switch (setting) {
  case Setting::none: return {};
  case Setting::paranoid: return paranoid();
  case Setting::mlock: return host::show_setting("kernel.perf_event_mlock_kb");
  case Setting::files: return files();
  case Setting::all_files: return host::show_setting("fs.file-max");
  case Setting::pmus: return pmus();
  case Setting::watchdog: return host::show_setting("kernel.nmi_watchdog");
#if defined(__x86_64__) || defined(__i386__)
  case Setting::breakpoints: return "debug registers of an x86 CPU = 4";
#else
  case Setting::breakpoints: return {}; // depends on the CPU, and Linux does not report it
#endif
  case Setting::frequency: return host::show_setting("kernel.perf_event_max_sample_rate");
  case Setting::stack: return host::show_setting("kernel.perf_event_max_stack");
  case Setting::cpus:
    return "CPUs online = " + base::read_line("/sys/devices/system/cpu/online").value_or("unknown");
  case Setting::confinement: return confinement();
  }
  return {};
}

} // namespace recount::perf
