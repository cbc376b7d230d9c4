// Which CPUs recount caches looks at, and what is stated of their caches.
#include "host/machine.hpp"
#include "base/format.hpp"
#include "caches/view/output.hpp"
#include "command/output.hpp"
#include "host/cpu.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::caches {
namespace {

/// What `source` states otherwise than the header does: "L2 1 MiB, 8 ways, lines of 64 B"; empty: nothing.
std::string differences(const std::vector<host::Cache>& source, const result::Run& run) {
  std::string text;
  for (const auto& note : run.caches) {
    const auto other = std::ranges::find(source, note.level, &host::Cache::name);
    if (other == source.end() ||
        (other->size == note.size && other->line == note.line && other->ways == note.ways))
      continue;
    text += fmt::format("{}{} {}, {}, lines of {} B", text.empty() ? "" : "; ", note.level,
                        base::format_bytes(other->size), base::format_count(other->ways, "way"), other->line);
  }
  return text;
}

} // namespace

StatedNotes who_states(const result::Run& run, std::optional<int> cpu) {
  const int asked = cpu.value_or(host::this_machine().allowed_cpus.front());
  StatedNotes notes{"hwloc", {}, {}};
  for (const auto& [name, caches] :
       {std::pair("sysfs", host::caches_in_sysfs(asked)), std::pair("CPUID", host::caches_by_cpuid(asked))}) {
    if (caches.empty()) continue;
    const std::string otherwise = differences(caches, run);
    if (otherwise.empty())
      notes.sources += fmt::format(", {}", name);
    else
      notes.otherwise += fmt::format("{}{}: {}", notes.otherwise.empty() ? "" : "; ", name, otherwise);
  }
  for (const auto& cache : host::caches_of(asked))
    if (cache.type != 'i') notes.shared_by.emplace_back(cache.name(), cache.shared_by);
  return notes;
}

std::vector<std::optional<int>> one_of_each_kind() {
  std::vector<std::pair<std::string, std::vector<host::Candidate>>> kinds;
  for (const auto& candidate : host::candidates()) {
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
    cpus.emplace_back(host::best_cpu(candidates));
  return cpus;
}

} // namespace recount::caches
