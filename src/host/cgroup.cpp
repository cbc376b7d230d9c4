#include "host/cgroup.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

namespace recount::host {
namespace {

/// No limit is written as "max" in version 2, as a number near 2^63 in version 1.
constexpr long long no_limit = std::numeric_limits<long long>::max() / 2;

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

std::optional<std::int64_t> field(const std::string& path, const std::string& key) {
  std::istringstream lines(base::read_file(path).value_or(""));
  std::string name;
  std::int64_t value = 0;
  while (lines >> name >> value) {
    if (name == key) return value;
  }
  return {};
}

void read_memory(Cgroup& group, const std::string& limit_file, const std::string& usage_file) {
  const auto limit = base::read_number(limit_file);
  if (!limit || *limit >= no_limit || (group.memory_limit && *group.memory_limit <= *limit)) return;
  group.memory_limit = *limit;
  if (const auto used = base::read_number(usage_file)) group.memory_used = *used;
}

void read_v2(Cgroup& group, const std::string& folder) {
  read_memory(group, folder + "/memory.max", folder + "/memory.current");
  std::istringstream cpu(base::read_file(folder + "/cpu.max").value_or(""));
  double quota = 0, period = 0;
  if (cpu >> quota >> period && period > 0) tighten(group.cpus, std::optional(quota / period));
  const auto periods = field(folder + "/cpu.stat", "nr_throttled");
  const auto microseconds = field(folder + "/cpu.stat", "throttled_usec");
  if (periods && !group.throttled_periods) group.throttled_periods = periods;
  if (microseconds && !group.throttled_ns) group.throttled_ns = *microseconds * 1000;
}

void read_v1_cpu(Cgroup& group, const std::string& folder) {
  const auto quota = base::read_number(folder + "/cpu.cfs_quota_us");
  const auto period = base::read_number(folder + "/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0)
    tighten(group.cpus, std::optional(static_cast<double>(*quota) / static_cast<double>(*period)));
  const auto periods = field(folder + "/cpu.stat", "nr_throttled");
  const auto nanoseconds = field(folder + "/cpu.stat", "throttled_time");
  if (periods && !group.throttled_periods) group.throttled_periods = periods;
  if (nanoseconds && !group.throttled_ns) group.throttled_ns = nanoseconds;
}

/// Calls `visit` for the group's folder and every one above it. Inside a container the path of
/// /proc/self/cgroup may lie outside what is mounted: the missing folders simply read as nothing.
template <class Visit>
void upwards(const std::string& root, std::string path, Visit visit) {
  while (true) {
    while (!path.empty() && path.back() == '/')
      path.pop_back();
    visit(root + path);
    if (path.empty()) return;
    path.erase(path.rfind('/'));
  }
}
} // namespace

Cgroup cgroup(const std::string& root, const std::string& membership) {
  Cgroup group;
  for (const auto line : base::split(membership, '\n')) { // "ID:controllers:path"
    const auto fields = base::split(line, ':');
    if (fields.size() < 3) continue;
    const std::string path(line.substr(fields[0].size() + fields[1].size() + 2));
    const auto names = base::split(fields[1], ',');
    const auto has = [&](std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (fields[1].empty()) upwards(root, path, [&](const std::string& f) { read_v2(group, f); });
    if (has("memory"))
      upwards(root + "/memory", path, [&](const std::string& f) {
        read_memory(group, f + "/memory.limit_in_bytes", f + "/memory.usage_in_bytes");
      });
    if (has("cpu")) {
      for (const auto* mount : {"/cpu", "/cpu,cpuacct"})
        upwards(root + mount, path, [&](const std::string& f) { read_v1_cpu(group, f); });
    }
  }
  return group;
}

Cgroup cgroup() {
  return cgroup("/sys/fs/cgroup", base::read_file("/proc/self/cgroup").value_or(""));
}

std::int64_t memory_available() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  const std::string info = base::read_file("/proc/meminfo").value_or("");
  for (const auto line : base::split(info, '\n')) {
    constexpr std::string_view key = "MemAvailable:";
    if (line.starts_with(key)) available = std::stoll(std::string(line.substr(key.size()))) * 1024;
  }
  const Cgroup group = cgroup();
  if (group.memory_limit)
    available =
        std::min(available, std::max<std::int64_t>(0, *group.memory_limit - group.memory_used.value_or(0)));
  return available;
}

} // namespace recount::host
