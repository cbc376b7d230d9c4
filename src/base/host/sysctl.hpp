// Kernel settings by their sysctl names.
#pragma once

#include <optional>
#include <string>

namespace recount::host {

/// The value of a setting, e.g. sysctl("kernel.perf_event_paranoid"); nothing where this kernel has no such
/// setting or does not let us read it. See perf_event_open(2) and sysctl.d(5).
[[nodiscard]] std::optional<std::string> sysctl(const std::string& name);
/// The same as a number.
[[nodiscard]] std::optional<long long> sysctl_number(const std::string& name);

/// "kernel.perf_event_paranoid = 2", for the `setting` of an Error; "(not there)" where it is missing.
[[nodiscard]] std::string show_setting(const std::string& name);

// What this process is allowed: capabilities, seccomp, container.

/// Facts from /proc/self/status and the surroundings; see capabilities(7) and seccomp(2).
struct Permission {
  bool root = false;          ///< effective user id 0
  bool cap_perfmon = false;   ///< CAP_PERFMON (Linux 5.8) effective
  bool cap_sys_admin = false; ///< CAP_SYS_ADMIN effective
  int seccomp = 0;            ///< 0 none, 1 strict, 2 filtered
  std::string container;      ///< "docker", "podman", "lxc", ...; empty: none seen
};
[[nodiscard]] Permission permission();

/// What a container is recognised by.
struct ContainerSigns {
  std::string variable; ///< "container" in the environment of this process or of process 1
  bool docker_file = false, podman_file = false; ///< /.dockerenv, /run/.containerenv
  /// A PID, UTS, IPC, cgroup or user namespace is another than those that Linux starts with. Where none is,
  /// the other signs came with the image of a virtual machine.
  bool own_namespaces = false;
};
/// Permission::container of these. Pure.
[[nodiscard]] std::string container_name(const ContainerSigns& signs);

/// The Seccomp and CapEff lines of a status file. Pure.
void parse_status(const std::string& status, Permission& into);

} // namespace recount::host
