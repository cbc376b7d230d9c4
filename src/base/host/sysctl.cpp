#include "base/host/sysctl.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace recount::host {
namespace {
std::string sysctl_path(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return "/proc/sys/" + name;
}
} // namespace

std::optional<std::string> sysctl(const std::string& name) {
  return base::read_trimmed(sysctl_path(name));
}
std::optional<long long> sysctl_number(const std::string& name) {
  return base::read_number(sysctl_path(name));
}
std::string show_setting(const std::string& name) {
  return name + " = " + sysctl(name).value_or("(not there)");
}

namespace {

std::string container_variable() {
  if (const char* name = std::getenv("container"); name && *name) return name;
  const std::string init = base::read_file("/proc/1/environ").value_or("");
  for (const auto variable : base::split(init, '\0')) {
    constexpr std::string_view key = "container=";
    if (variable.starts_with(key)) return std::string(variable.substr(key.size()));
  }
  return {};
}

/// Their inode numbers are fixed (include/linux/proc_ns.h of Linux).
bool has_own_namespaces() {
  constexpr std::pair<const char*, ino_t> first[] = {{"ipc", 0xEFFFFFFF},
                                                     {"uts", 0xEFFFFFFE},
                                                     {"user", 0xEFFFFFFD},
                                                     {"pid", 0xEFFFFFFC},
                                                     {"cgroup", 0xEFFFFFFB}};
  return std::ranges::any_of(first, [](const auto& one) {
    struct stat status {};
    return ::stat((std::string("/proc/self/ns/") + one.first).c_str(), &status) == 0 &&
           status.st_ino != one.second;
  });
}

} // namespace

std::string container_name(const ContainerSigns& signs) {
  if (!signs.own_namespaces) return {};
  if (!signs.variable.empty()) return signs.variable;
  return signs.docker_file ? "docker" : signs.podman_file ? "podman" : "";
}

void parse_status(const std::string& status, Permission& into) {
  for (const auto line : base::split(status, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = line.substr(0, colon);
    const std::string value(base::trim(line.substr(colon + 1)));
    if (key == "Seccomp") into.seccomp = std::atoi(value.c_str());
    if (key != "CapEff") continue;
    const auto effective = base::parse<std::uint64_t>(value, 16).value_or(0);
    into.cap_perfmon = ((effective >> CAP_PERFMON) & 1) != 0;
    into.cap_sys_admin = ((effective >> CAP_SYS_ADMIN) & 1) != 0;
  }
}

Permission permission() {
  Permission p;
  p.root = ::geteuid() == 0;
  p.container = container_name({container_variable(), ::access("/.dockerenv", F_OK) == 0,
                                ::access("/run/.containerenv", F_OK) == 0, has_own_namespaces()});
  parse_status(base::read_file("/proc/self/status").value_or(""), p);
  return p;
}

} // namespace recount::host
