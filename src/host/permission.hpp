// What this process is allowed: capabilities, seccomp, container.
#pragma once

#include <string>

namespace recount::host {

/// Facts from /proc/self/status and the surroundings; see capabilities(7) and seccomp(2).
struct Permission {
  bool root = false;          ///< effective user id 0
  bool cap_perfmon = false;   ///< CAP_PERFMON (Linux 5.8) effective
  bool cap_sys_admin = false; ///< CAP_SYS_ADMIN effective
  int seccomp = 0;            ///< 0 none, 1 strict, 2 filtered
  std::string container;      ///< "docker", "podman", "lxc", ...; empty: none seen
};
[[nodiscard]] Permission permission();

/// The Seccomp and CapEff lines of a status file. Pure.
void parse_status(const std::string& status, Permission& into);

} // namespace recount::host
