// hwloc's view: caches and siblings.
#include "host/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <hwloc.h>
#include <memory>

namespace recount::host {
namespace {
struct Destroy {
  void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

/// Loaded once; only CPUs and caches, since buses and network cards cost time and tell nothing here.
hwloc_topology_t topology() {
  static const Topology loaded = [] {
    // Without /sys hwloc reports that on standard error, unless its environment forbids it (hwloc 2.8).
    const bool silenced =
        std::getenv("HWLOC_HIDE_ERRORS") == nullptr && ::setenv("HWLOC_HIDE_ERRORS", "2", 1) == 0;
    hwloc_topology_t t = nullptr;
    if (hwloc_topology_init(&t) != 0) return Topology();
    Topology owner(t);
    hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_cache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_icache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
    // Without this flag a container's cpuset would make a shared cache look private.
    hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    const bool failed = hwloc_topology_load(t) != 0;
    if (silenced) ::unsetenv("HWLOC_HIDE_ERRORS"); // no command inherits it
    if (failed) return Topology();
    return owner;
  }();
  return loaded.get();
}

hwloc_obj_t processing_unit(int cpu) {
  if (!topology() || cpu < 0) return nullptr;
  return hwloc_get_pu_obj_by_os_index(topology(), static_cast<unsigned>(cpu));
}

char letter(hwloc_obj_cache_type_t type) {
  return type == HWLOC_OBJ_CACHE_DATA ? 'd' : type == HWLOC_OBJ_CACHE_INSTRUCTION ? 'i' : 'u';
}
} // namespace

std::string Cache::name() const {
  return "L" + std::to_string(level) + (type == 'u' ? std::string() : std::string(1, type));
}

std::vector<Cache> caches_of(int cpu) {
  std::vector<Cache> caches;
  for (hwloc_obj_t object = processing_unit(cpu); object; object = object->parent) {
    if (!hwloc_obj_type_is_cache(object->type)) continue;
    const auto& c = object->attr->cache;
    if (c.size == 0) continue; // arm64 firmware may name caches without describing them
    caches.push_back({static_cast<int>(c.depth), letter(c.type), static_cast<std::int64_t>(c.size),
                      static_cast<std::int64_t>(c.linesize), c.associativity,
                      hwloc_bitmap_weight(object->cpuset)});
  }
  std::stable_sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) {
    return std::pair(a.level, a.type) < std::pair(b.level, b.type);
  });
  return caches;
}

std::vector<int> smt_siblings(int cpu) {
  std::vector<int> siblings;
  hwloc_obj_t core = processing_unit(cpu);
  while (core && core->type != HWLOC_OBJ_CORE)
    core = core->parent;
  if (!core) return siblings;
  for (int other = hwloc_bitmap_first(core->cpuset); other >= 0;
       other = hwloc_bitmap_next(core->cpuset, other)) {
    if (other != cpu) siblings.push_back(other);
  }
  return siblings;
}

} // namespace recount::host
