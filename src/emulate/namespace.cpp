#include "emulate/namespace.hpp"

#include "base/output_file.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recount::emulate {
namespace {

void demand(bool done, const std::string& what) {
  if (!done)
    throw unavailable("capabilities", fmt::format("{}: {}", what, std::strerror(errno)), {}, "run as root");
}

bool map_own_id(const char* file, unsigned id) {
  return base::write_file(file, fmt::format("{0} {0} 1", id));
}

bool enter() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0 &&
      (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !base::write_file("/proc/self/setgroups", "deny") ||
       !map_own_id("/proc/self/uid_map", user) || !map_own_id("/proc/self/gid_map", group)))
    return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Some systems allow the namespace, and then no mount in it: as AppArmor of Ubuntu 24.04 does. A mount that
/// changes nothing is tried.
bool enter_and_mount() {
  return enter() && ::mount("/", "/", nullptr, MS_BIND, nullptr) == 0;
}

} // namespace

bool enter_namespace() {
  const pid_t child = ::fork(); // who is half in a namespace cannot leave it
  if (child == 0) ::_exit(enter_and_mount() ? 0 : 1);
  int status = 1;
  const bool ended = child > 0 && ::waitpid(child, &status, 0) == child;
  return ended && status == 0 && enter();
}

void drop_capabilities() {
  constexpr unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED;
  // Without the capability for it, a user has none that this would take.
  demand(::prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) == 0 || (errno == EPERM && ::geteuid() != 0),
         "prctl(PR_SET_SECUREBITS)");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  demand(::syscall(SYS_capset, &header, none) == 0, "capset");
}

} // namespace recount::emulate
