// Current values of the settings named in errors.
#include "perf/errno_hints.hpp"

#include "base/text.hpp"
#include "event/sysfs.hpp"
#include "host/machine.hpp"
#include "host/sysctl.hpp"

#include <fmt/core.h>

#include <sys/resource.h>

namespace recount::perf {
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
  case Setting::hypervisor: {
    const host::Machine& machine = host::this_machine();
    return "hypervisor = " + (machine.virtualised() ? machine.hypervisor : "none");
  }
  }
  return {};
}

} // namespace recount::perf
