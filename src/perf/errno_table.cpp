// The rows of hints(): data, after perf_event_open(2), its source (kernel/events/core.c) and trial.
#include "perf/errno_hints.hpp"

#include <array>
#include <cerrno>
#include <linux/hw_breakpoint.h>

namespace recount::perf {
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
bool own_pmu_told_domain(const Situation& s) {
  return s.event.domain_given && excludes(s) && s.event.attr.type > PERF_TYPE_BREAKPOINT;
}
bool core_missing(const Situation& s) {
  const auto type = s.event.attr.type;
  return !s.core_pmu && (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW);
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
    Hint{EACCES, Stage::open, everyone, cannot,
         "counting everything on CPU {cpu} is not allowed to this user", Setting::paranoid, raise_paranoid},
    Hint{EACCES, Stage::open, other, cannot,
         "process {pid} may not be observed by this user (or only its user mode)", Setting::paranoid,
         "count a process of your own, with :u; or as root, or with CAP_PERFMON: setcap cap_perfmon+ep "
         "PROGRAM"},
    Hint{EACCES, Stage::open, with_kernel, cannot, "counting in the kernel is not allowed to this user",
         Setting::paranoid,
         "count user mode alone: append :u to the event; or allow it: sysctl -w kernel.perf_event_paranoid=1 "
         "(as root), "
         "or setcap cap_perfmon+ep PROGRAM"},
    Hint{EACCES, Stage::open, nullptr, cannot, "counting is not allowed to this user at all",
         Setting::paranoid,
         "sysctl -w kernel.perf_event_paranoid=2 (as root), or setcap cap_perfmon+ep PROGRAM"},
    Hint{EPERM, Stage::open, excludes, cannot,
         "PMU {pmu} cannot leave out what the event excludes, or a seccomp filter forbids perf_event_open",
         Setting::confinement,
         "drop :u or :k; in a container start it with --cap-add PERFMON and a seccomp profile that allows "
         "perf_event_open (--security-opt seccomp=FILE)"},
    Hint{EPERM, Stage::open, nullptr, cannot,
         "perf_event_open is forbidden here, by a seccomp filter or a security module", Setting::confinement,
         "in a container start it with --cap-add PERFMON and a seccomp profile that allows perf_event_open "
         "(--security-opt seccomp=FILE)"},
    Hint{EPERM, Stage::map, nullptr, cannot,
         "the ring buffer would take more locked memory than this user may", Setting::mlock,
         "take a smaller buffer, or sysctl -w kernel.perf_event_mlock_kb=4096 (as root)"},
    Hint{ENOENT, Stage::open, core_missing, cannot, no_core_pmu, Setting::pmus,
         "count software events (recount events --pmu perf), or give the machine a PMU (qemu/KVM: -cpu "
         "host,pmu=on)"},
    Hint{ENOENT, Stage::open, nullptr, cannot, "PMU {pmu} does not have this event, or there is no such PMU",
         Setting::pmus, "recount events lists what can be counted here"},
    Hint{EOPNOTSUPP, Stage::open, samples, cannot,
         "PMU {pmu} cannot sample this event (no overflow interrupt, no precise sampling, no branch stack)",
         Setting::none, "count it instead of sampling, or sample another event (perf::CPU-CLOCK always can)"},
    Hint{EOPNOTSUPP, Stage::open, nullptr, cannot,
         "PMU {pmu} does not support a feature that the event asks for", Setting::none,
         "drop its modifiers and try again; count instead of sampling"},
    Hint{EINVAL, Stage::open, beside, cannot,
         "it does not fit into one group with {beside}, though it opens alone", Setting::none,
         "count it in another group: class Counters splits events over groups by itself"},
    Hint{EINVAL, Stage::open, own_pmu_told_domain, bad, "PMU {pmu} cannot count user and kernel apart",
         Setting::none, "drop :u or :k from the name: it counts both"},
    Hint{EINVAL, Stage::open, read_watch, cannot, "this CPU has no breakpoint on reads alone (x86 has none)",
         Setting::none, "watch reads and writes: rw instead of r"},
    Hint{EINVAL, Stage::open, executes, bad, "not a possible breakpoint on execution", Setting::none,
         "leave the length out, or make it that of a long (8 bytes on 64-bit machines)"},
    Hint{EINVAL, Stage::open, breakpoint, bad,
         "not a possible breakpoint: the address is no multiple of the length", Setting::none,
         "align the address, or take a shorter length (1, 2, 4 or 8)"},
    Hint{EINVAL, Stage::open, at_frequency, bad, "the sampling frequency is more than the kernel allows",
         Setting::frequency,
         "take a lower frequency, or sysctl -w kernel.perf_event_max_sample_rate=N (as root)"},
    Hint{EINVAL, Stage::open, on_cpu, bad,
         "CPU {cpu} is not online, or the PMU does not know this configuration", Setting::cpus,
         "take one of the CPUs that are online; recount events --encode {event} shows the configuration"},
    Hint{EINVAL, Stage::open, nullptr, bad, "PMU {pmu} does not know this configuration", Setting::none,
         "recount events --encode {event} shows what is asked for; try it without modifiers"},
    Hint{EINVAL, Stage::map, inherits, bad, "an inherited event has one buffer for each CPU, not one for all",
         Setting::none, "open it on each CPU (cpu >= 0), or without inherit"},
    Hint{EINVAL, Stage::map, nullptr, bad, "not a possible buffer", Setting::none,
         "a buffer is one page and then a power of two of pages"},
    Hint{EMFILE, Stage::open, nullptr, cannot,
         "this process has no file descriptor left, and every event takes one", Setting::files,
         "ulimit -n 65536 before the program starts (each event on each CPU takes one)"},
    Hint{ENFILE, Stage::open, nullptr, cannot, "the whole system has no file descriptor left",
         Setting::all_files, "sysctl -w fs.file-max=N (as root)"},
    Hint{ENOSPC, Stage::open, breakpoint, cannot, "all hardware breakpoints are taken", Setting::breakpoints,
         "watch fewer addresses at a time; a debugger on the same process takes some as well"},
    Hint{ENOSPC, Stage::open, nullptr, cannot, "the PMU has no room left for this event", Setting::none,
         "count fewer events at a time"},
    Hint{ENOSPC, Stage::read, nullptr, cannot,
         "the buffer is too small for what the group's read_format asks for", Setting::none,
         "read a group with the buffer of its own size (Layout::words)"},
    Hint{EBUSY, Stage::open, nullptr, cannot, "another event owns the PMU exclusively", Setting::none,
         "end the other user of the PMU (perf, a profiler, an exclusive group) and try again"},
    Hint{ENODEV, Stage::open, nullptr, cannot, "the CPU lacks a feature that the event needs", Setting::none,
         "take the event without modifiers such as precise; recount doctor says what the CPU has"},
    Hint{E2BIG, Stage::open, nullptr, cannot,
         "it needs a field of perf_event_attr that is newer than this kernel, even after a retry with the "
         "kernel's size",
         Setting::none, "take a newer kernel, or the event without the modifiers that need the field"},
    Hint{EBADF, Stage::open, nullptr, bad, "the group's leader is not an open event", Setting::none,
         "open the leader first and keep it open as long as the group"},
    Hint{EBADF, Stage::read, nullptr, bad, "the event has been closed", Setting::none,
         "keep the group as long as it is read"},
    Hint{ESRCH, Stage::open, nullptr, bad, "there is no process {pid}: it has ended", Setting::none,
         "attach while it is there, or start it stopped and attach then"},
    Hint{EOVERFLOW, Stage::open, nullptr, bad, "the call chain asked for is deeper than the kernel allows",
         Setting::stack, "ask for fewer frames, or sysctl -w kernel.perf_event_max_stack=N (as root)"},
    Hint{ENOSYS, Stage::open, nullptr, cannot,
         "this kernel was built without perf_event_open, or a sandbox hides it", Setting::confinement,
         "take a kernel with CONFIG_PERF_EVENTS"},
    Hint{ENOMEM, Stage::open, nullptr, cannot, "the kernel has no memory for it", Setting::none,
         "count fewer events"},
    Hint{ENOMEM, Stage::map, nullptr, cannot, "the kernel has no memory for the ring buffer", Setting::mlock,
         "take a smaller buffer"},
};

} // namespace

std::span<const Hint> hints() {
  return rows;
}

} // namespace recount::perf
