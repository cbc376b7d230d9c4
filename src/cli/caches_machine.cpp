// Which CPUs recount caches looks at, and what is stated of their caches.
#include "cli/caches.hpp"
#include "host/machine.hpp"
#include "model/machine.hpp"
#include "sweep/cpu.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::cli {
namespace {

analysis::StatedCaches stated_by_machine(const std::string& name) {
  const auto machine = model::machine(name);
  analysis::StatedCaches stated{"machine " + machine.name, {}, {}};
  for (const auto& level : machine.levels)
    stated.levels.push_back({level.name, level.size, level.line, level.ways, 1});
  return stated;
}

} // namespace

analysis::StatedCaches stated_caches(const std::string& machine, const std::string& witness,
                                     const result::Run& run, std::optional<int> cpu) {
  if (!machine.empty()) return stated_by_machine(machine);
  if (witness.starts_with("model:")) return stated_by_machine(witness.substr(6));
  analysis::StatedCaches stated{"hwloc", {}, run.virtualised};
  for (const auto& cache : run.caches)
    stated.levels.push_back({cache.level, cache.size, cache.line, cache.ways, 1});
  for (const auto& cache : host::caches_of(cpu.value_or(-1)))
    for (auto& level : stated.levels)
      if (level.name == cache.name() && level.size == cache.size) level.shared_by = cache.shared_by;
  return stated;
}

std::vector<std::optional<int>> one_of_each_kind() {
  std::vector<std::pair<std::string, std::vector<sweep::Candidate>>> kinds;
  for (const auto& candidate : sweep::candidates()) {
    std::string kind = std::to_string(candidate.capacity);
    for (const auto& cache : host::caches_of(candidate.cpu))
      kind += fmt::format(" {} {} {}", cache.name(), cache.size, cache.ways);
    const auto known = std::ranges::find(kinds, kind, [](const auto& k) { return k.first; });
    if (known == kinds.end())
      kinds.push_back({kind, {candidate}});
    else
      known->second.push_back(candidate);
  }
  std::vector<std::optional<int>> cpus;
  for (const auto& [kind, candidates] : kinds)
    cpus.emplace_back(sweep::best_cpu(candidates));
  return cpus;
}

} // namespace recount::cli
