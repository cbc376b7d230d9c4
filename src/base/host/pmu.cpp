#include "base/host/pmu.hpp"

#include "base/text.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace recount::host {
namespace {
namespace fs = std::filesystem;

std::map<std::string, std::string> read_folder(const fs::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (auto text = base::read_trimmed(entry.path().string()))
      files[entry.path().filename().string()] = *text;
  }
  return files;
}

/// "energy-pkg.unit" belongs to "energy-pkg": moves such files out of `events`.
std::map<std::string, std::string> take_suffix(std::map<std::string, std::string>& events,
                                               const std::string& suffix) {
  std::map<std::string, std::string> taken;
  for (auto it = events.begin(); it != events.end();) {
    if (!it->first.ends_with(suffix)) {
      ++it;
      continue;
    }
    taken[it->first.substr(0, it->first.size() - suffix.size())] = it->second;
    it = events.erase(it);
  }
  return taken;
}

Pmu read_pmu(const fs::path& folder) {
  Pmu pmu;
  pmu.name = folder.filename().string();
  pmu.type = static_cast<std::uint32_t>(base::read_number((folder / "type").string()).value_or(0));
  pmu.formats = read_folder(folder / "format");
  pmu.events = read_folder(folder / "events");
  pmu.caps = read_folder(folder / "caps");
  pmu.units = take_suffix(pmu.events, ".unit");
  pmu.scales = take_suffix(pmu.events, ".scale");
  take_suffix(pmu.events, ".snapshot");
  take_suffix(pmu.events, ".per-pkg");
  if (const auto list = base::read_trimmed((folder / "cpus").string()))
    pmu.cpus = base::parse_cpu_list(*list);
  if (const auto list = base::read_trimmed((folder / "cpumask").string()))
    pmu.cpumask = base::parse_cpu_list(*list);
  return pmu;
}
} // namespace

bool Pmu::core() const {
  if (name == "cpu" || name == "cpu_core" || name == "cpu_atom" || name == "cpu_lowpower") return true;
  // Arm names it after the core: armv8_pmuv3_0, armv8_cortex_a57, armv7_cortex_a15, apple_icestorm_pmu.
  return name.starts_with("armv") || (name.starts_with("apple_") && name.ends_with("_pmu"));
}

std::vector<Pmu> pmus(const std::string& root) {
  std::vector<Pmu> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error))
    found.push_back(read_pmu(entry.path()));
  std::sort(found.begin(), found.end(), [](const Pmu& a, const Pmu& b) { return a.name < b.name; });
  return found;
}

int best_cpu(const std::vector<Candidate>& candidates) {
  const auto best = std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.isolated, a.capacity, a.cpu) < std::tie(b.isolated, b.capacity, b.cpu);
  });
  return best == candidates.end() ? -1 : best->cpu;
}

std::vector<int> online_cpus() {
  auto cpus = base::parse_cpu_list(base::read_trimmed("/sys/devices/system/cpu/online")
                                       .value_or("0-" + std::to_string(::get_nprocs() - 1)));
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::vector<Candidate> candidates() {
  const std::string root = "/sys/devices/system/cpu/";
  const auto isolated = base::parse_cpu_list(base::read_trimmed(root + "isolated").value_or(""));
  std::vector<Candidate> all;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) continue;
    const std::string folder = root + "cpu" + std::to_string(cpu) + "/";
    auto capacity = base::read_number(folder + "cpu_capacity");
    if (!capacity) capacity = base::read_number(folder + "cpufreq/cpuinfo_max_freq");
    all.push_back({cpu, std::find(isolated.begin(), isolated.end(), cpu) != isolated.end(),
                   static_cast<long>(capacity.value_or(0))});
  }
  return all;
}

std::optional<int> parse_cpu(const std::string& text) {
  if (text == "none") return std::nullopt;
  const auto usable = candidates();
  if (text.empty()) {
    const int best = best_cpu(usable);
    return best < 0 ? std::nullopt : std::optional(best);
  }
  std::vector<int> allowed;
  for (const auto& candidate : usable) {
    allowed.push_back(candidate.cpu);
    if (text == std::to_string(candidate.cpu)) return candidate.cpu;
  }
  throw bad_input("--cpu " + text, "not a CPU that this process may run on",
                  fmt::format("--cpu with one of {}, or none for no pinning", fmt::join(allowed, ", ")));
}

bool is_instance(std::string_view pmu, std::string_view stem) {
  if (!pmu.starts_with(stem) || pmu.size() < stem.size() + 2 || pmu[stem.size()] != '_') return false;
  return pmu.find_first_not_of("0123456789", stem.size() + 1) == pmu.npos;
}

} // namespace recount::host
