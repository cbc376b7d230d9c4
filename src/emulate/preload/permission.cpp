#include "emulate/preload/permission.hpp"

#include "emulate/real.hpp"
#include "emulate/settings.hpp"

#include <cerrno>
#include <linux/capability.h>
#include <sys/syscall.h>

namespace recount::emulate {

bool privileged() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (real::syscall(SYS_capget, reinterpret_cast<long>(&header), reinterpret_cast<long>(data)) != 0)
    return false;
  const auto has = [&](unsigned capability) {
    return ((data[capability / 32].effective >> capability % 32) & 1) != 0;
  };
  return has(CAP_PERFMON) || has(CAP_SYS_ADMIN);
}

// perf_allow_kernel(), perf_allow_cpu() of include/linux/perf_event.h and kernel/events/core.c; levels above
// 2 are patches of Debian ("perf: Add parameter to disallow all unprivileged perf_event_open use") and
// Ubuntu.
int refused_by_level(const perf_event_attr& attr, pid_t pid) {
  const auto& level = settings().paranoid;
  if (!level || privileged()) return 0;
  constexpr int no_cpus = 0, no_kernel = 1, nothing = 2;
  if (*level > nothing) return EACCES;
  if (*level > no_kernel && attr.exclude_kernel == 0) return EACCES;
  if (*level > no_cpus && pid == -1) return EACCES;
  return 0;
}

} // namespace recount::emulate
