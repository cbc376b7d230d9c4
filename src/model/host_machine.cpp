// This machine as a description: its data caches according to hwloc.
#include "host/machine.hpp"

#include "model/machine.hpp"
#include "recount/error.hpp"

namespace recount::model {

MachineDescription host_machine() {
  const host::Machine& here = host::this_machine();
  MachineDescription machine;
  machine.name = "host";
  machine.source = "hwloc on " + (here.cpu.name.empty() ? here.architecture : here.cpu.name) +
                   "; LRU and write-back assumed, other users of shared levels ignored";
  for (const host::Cache& cache : here.caches) {
    if (cache.type == 'i') continue;
    LevelDescription level;
    level.name = cache.name();
    level.size = cache.size;
    if (cache.line > 0) level.line = cache.line;
    level.ways = cache.ways > 0 ? cache.ways : level.size / level.line;
    machine.levels.push_back(level);
  }
  if (machine.levels.empty())
    throw unavailable("host", "no data cache is stated for this machine",
                      "hwloc: no L1 cache in the topology",
                      "describe it in a file (recount-machines(5)) or name a shipped machine");
  check(machine, "host");
  return machine;
}

} // namespace recount::model
