#include "emulate/namespace.hpp"

#include "base/output_file.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::emulate {
namespace {

void demand(bool done, const std::string& what) {
  if (done) return;
  throw unavailable(
      "mount namespace", fmt::format("{}: {}", what, std::strerror(errno)), {},
      "allow it: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=1000, or "
      "run as root");
}

void map_own_id(const char* file, unsigned id) {
  demand(base::write_file(file, fmt::format("{0} {0} 1", id)), file);
}

} // namespace

void enter_namespace() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const bool privileged = ::unshare(CLONE_NEWNS) == 0;
  if (!privileged) {
    demand(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "unshare");
    demand(base::write_file("/proc/self/setgroups", "deny"), "/proc/self/setgroups");
    map_own_id("/proc/self/uid_map", user);
    map_own_id("/proc/self/gid_map", group);
  }
  demand(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
}

void bind_over(const std::string& source, const std::string& target) {
  demand(::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0,
         "mount --bind over " + target);
}

MemoryFolder::MemoryFolder() {
  const char* const folder = std::getenv("TMPDIR");
  path_ = std::string(folder && *folder ? folder : "/tmp") + "/recount-emulate-XXXXXX";
  demand(::mkdtemp(path_.data()) != nullptr, path_);
  if (::mount("recount", path_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0) return;
  const int error = errno;
  ::rmdir(path_.c_str());
  errno = error;
  demand(false, "tmpfs at " + path_);
}

MemoryFolder::~MemoryFolder() {
  ::umount2(path_.c_str(), MNT_DETACH);
  ::rmdir(path_.c_str());
}

void drop_capabilities() {
  constexpr unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED;
  demand(::prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) == 0, "prctl(PR_SET_SECUREBITS)");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  demand(::syscall(SYS_capset, &header, none) == 0, "capset");
}

} // namespace recount::emulate
