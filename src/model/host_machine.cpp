// This machine as a description: its caches according to hwloc, its data TLBs according to CPUID.
#include "host/machine.hpp"

#include "model/machine.hpp"
#include "recount/error.hpp"

#include <algorithm>

namespace recount::model {

namespace {

std::optional<TlbDescription> describe(const std::vector<host::Tlb>& tlbs) {
  TlbDescription tlb;
  for (const host::Tlb& stated : tlbs) {
    auto& levels = stated.page == tlb.page ? tlb.levels : tlb.huge;
    levels.push_back({.entries = stated.entries, .ways = stated.ways});
  }
  return tlb.levels.empty() ? std::nullopt : std::optional(tlb);
}

LevelDescription describe(const host::Cache& cache) {
  LevelDescription level;
  level.name = cache.name();
  level.size = cache.size;
  if (cache.line > 0) level.line = cache.line;
  level.ways = cache.ways > 0 ? cache.ways : level.size / level.line;
  return level;
}

/// Adds the first-level instruction cache to a machine that is valid without it; or says why it has none.
std::string add_instructions(MachineDescription& machine, const std::vector<host::Cache>& caches) {
  const auto stated =
      std::ranges::find_if(caches, [](const host::Cache& c) { return c.type == 'i' && c.level == 1; });
  if (stated == caches.end()) return "; no instruction cache: hwloc states none";
  machine.instructions = InstructionDescription{.cache = describe(*stated), .tlb = {}};
  try {
    check(machine, "host");
    return {};
  } catch (const Error& error) {
    machine.instructions.reset();
    return "; no instruction cache: as stated by hwloc it cannot be simulated: " + error.problem().cause;
  }
}

} // namespace

MachineDescription host_machine(const host::Machine& here, const std::vector<host::Tlb>& tlbs) {
  MachineDescription machine;
  machine.name = "host";
  int sharers = here.cpus; // hardware threads of the first shared level
  for (const host::Cache& cache : here.caches) {
    if (cache.type == 'i') continue;
    LevelDescription level = describe(cache);
    level.shared =
        !machine.levels.empty() && (machine.levels.back().shared || cache.shared_by > here.threads_per_core);
    if (level.shared && !machine.levels.back().shared) sharers = cache.shared_by;
    machine.levels.push_back(level);
  }
  if (machine.levels.empty())
    throw unavailable("host", "no data cache is stated for this machine",
                      "hwloc: no L1 cache in the topology",
                      "describe it in a file (recount-machines(5)) or name a shipped machine");
  machine.cores = std::clamp<std::int64_t>(sharers / std::max(1, here.threads_per_core), 1, most_cores);
  if (!here.virtualised()) machine.tlb = describe(tlbs);
  machine.source = "hwloc on " + (here.cpu.name.empty() ? here.architecture : here.cpu.name) +
                   (machine.tlb          ? "; TLBs as CPUID states them, those of loads also for stores"
                    : here.virtualised() ? "; no TLBs: a virtual machine"
                                         : "; no TLBs: CPUID states none") +
                   "; LRU and write-back assumed, other programs ignored";
  check(machine, "host");
  machine.source += add_instructions(machine, here.caches);
  return machine;
}

MachineDescription host_machine() {
  const host::Machine& here = host::this_machine();
  const int cpu = here.allowed_cpus.empty() ? 0 : here.allowed_cpus.front();
  return host_machine(here, host::tlbs_by_cpuid(cpu));
}

} // namespace recount::model
