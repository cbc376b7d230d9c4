#include "host/cpu.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <sched.h>
#include <string>
#include <tuple>

namespace recount::host {

int best_cpu(const std::vector<Candidate>& candidates) {
  const auto best = std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.isolated, a.capacity, a.cpu) < std::tie(b.isolated, b.capacity, b.cpu);
  });
  return best == candidates.end() ? -1 : best->cpu;
}

std::vector<Candidate> candidates() {
  const std::string root = "/sys/devices/system/cpu/";
  const auto isolated = base::parse_cpu_list(base::read_line(root + "isolated").value_or(""));
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

} // namespace recount::host
