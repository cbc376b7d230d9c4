#include "base/host/machine.hpp"

#include "base/affinity.hpp"
#include "base/text.hpp"

#include <gnu/libc-version.h>
#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace recount::host {
namespace {

std::string distribution() {
  const std::string name = value_in("/etc/os-release", "PRETTY_NAME=");
  return name.size() >= 2 && name.front() == '"' ? name.substr(1, name.size() - 2) : name;
}

Machine read_machine() {
  Machine m;
  m.cpu = this_cpu();
  utsname names{};
  ::uname(&names);
  m.architecture = names.machine;
  m.hostname = names.nodename;
  m.os = this_kernel();
  m.distribution = distribution();
  m.libc = std::string("glibc ") + gnu_get_libc_version();
  m.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  m.page_size = ::sysconf(_SC_PAGESIZE);
  m.memory = ::sysconf(_SC_PHYS_PAGES) * m.page_size;
  m.allowed_cpus = base::parse_cpu_list(value_in("/proc/self/status", "Cpus_allowed_list:"));
  const int first = m.allowed_cpus.empty() ? 0 : m.allowed_cpus.front();
  m.caches = read_caches(first);
  m.threads_per_core = 1 + static_cast<int>(smt_siblings(first).size());
  m.governor =
      base::read_trimmed("/sys/devices/system/cpu/cpu" + std::to_string(first) + "/cpufreq/scaling_governor")
          .value_or("");
  m.hypervisor = this_hypervisor();
  return m;
}
} // namespace

std::string value_in(const std::string& file, std::string_view key) {
  const std::string text = base::read_file(file).value_or("");
  for (const auto line : base::split(text, '\n'))
    if (line.starts_with(key)) return std::string(base::trim(line.substr(key.size())));
  return {};
}

const Cache* Machine::data_cache(int level) const {
  for (const auto& cache : caches) {
    if (cache.level == level && cache.type != 'i') return &cache;
  }
  return nullptr;
}

const Machine& this_machine() {
  static const Machine machine = read_machine();
  return machine;
}

// hwloc's view: caches and siblings.
namespace {
struct Destroy {
  void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

/// Loaded once; only CPUs and caches, since buses and network cards cost time and are not needed.
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

std::vector<Cache> read_caches(int cpu) {
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

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  std::string text;
  for (const unsigned shift : {16U, 8U, 0U})
    text += (text.empty() ? "" : ".") + std::to_string(version >> shift & 0xffU);
  return text;
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

// Caches and TLBs as the CPU's own CPUID leaves state them; hwloc has those of sysfs where there is one.
namespace {

#if defined(__x86_64__)
/// Intel's leaf 4 and AMD's 0x8000001d have one format (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix
/// E).
std::vector<Cache> read_leaf(unsigned leaf) {
  std::vector<Cache> caches;
  for (unsigned index = 0; index < 16; ++index) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, index, &a, &b, &c, &d) == 0 || (a & 31) == 0) break;
    const std::int64_t line = (b & 0xfff) + 1, partitions = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1,
                       sets = std::int64_t{c} + 1;
    const bool full = (a >> 9 & 1) != 0;
    caches.push_back({static_cast<int>(a >> 5 & 7),
                      (a & 31) == 1   ? 'd'
                      : (a & 31) == 2 ? 'i'
                                      : 'u',
                      line * partitions * ways * sets, line, full ? -1 : ways,
                      static_cast<int>((a >> 14 & 0xfff) + 1)});
  }
  std::ranges::sort(caches, {}, [](const Cache& c) { return std::pair(c.level, c.type); });
  return caches;
}

std::vector<Cache> read_cpuid() {
  auto caches = read_leaf(4);
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned topology_extensions = 1U << 22;
  if (caches.empty() && __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & topology_extensions) != 0)
    caches = read_leaf(0x8000001d);
  return caches;
}

std::optional<std::array<std::uint32_t, 4>> read_registers(std::uint32_t leaf, std::uint32_t index) {
  std::array<std::uint32_t, 4> r{};
  if (__get_cpuid_count(leaf, index, &r[0], &r[1], &r[2], &r[3]) == 0) return {};
  return r;
}
#else
std::vector<Cache> read_cpuid() {
  return {};
}

std::optional<std::array<std::uint32_t, 4>> read_registers(std::uint32_t, std::uint32_t) {
  return {};
}
#endif

// Each kind of core states its own: ask on the CPU itself, in a thread whose affinity nobody misses.
void on_cpu(int cpu, const std::function<void()>& ask) {
  std::thread asking([&] {
    if (base::pin_to(cpu)) ask();
  });
  asking.join();
}

} // namespace

std::vector<Cache> caches_by_cpuid(int cpu) {
  std::vector<Cache> caches;
  on_cpu(cpu, [&] { caches = read_cpuid(); });
  return caches;
}

std::vector<Tlb> tlbs_by_cpuid(int cpu) {
  std::vector<Tlb> tlbs;
  on_cpu(cpu, [&] { tlbs = decode_tlbs(read_registers); });
  return tlbs;
}

// The CPUID leaves that state TLBs: Intel's leaf 0x18 (Intel SDM volume 2A, CPUID) and AMD's 0x80000005 and
// 0x80000006 (AMD APM volume 3, appendix E).

namespace {

using Registers = std::array<std::uint32_t, 4>; // EAX, EBX, ECX, EDX

constexpr std::int64_t small_page = 4096, huge_page = std::int64_t{2} << 20;
constexpr std::int64_t max_entries = 1 << 20; ///< what no TLB has: the registers say nothing
constexpr std::int64_t unknown = 0;           ///< entries or ways that are not known

/// Structures of one level and page size are searched together. If they have the same sets, they are one with
/// the sum of their ways.
void add(std::vector<Tlb>& tlbs, Tlb more) {
  const auto same =
      std::ranges::find_if(tlbs, [&](const Tlb& t) { return t.level == more.level && t.page == more.page; });
  if (same == tlbs.end()) return tlbs.push_back(more);
  const bool alike =
      same->ways != unknown && more.ways != unknown && same->entries / same->ways == more.entries / more.ways;
  same->entries += more.entries;
  same->ways = alike ? same->ways + more.ways : unknown;
}

std::vector<Tlb> deterministic(const CpuidReader& read) {
  constexpr std::uint32_t leaf = 0x18, max_indexes = 64, data = 1, unified = 3, loads = 4;
  std::vector<Tlb> tlbs;
  const auto first = read(leaf, 0);
  for (std::uint32_t index = 0; first && index <= (*first)[0] && index < max_indexes; ++index) {
    const auto r = read(leaf, index);
    if (!r) break;
    const auto [a, b, c, d] = *r;
    const std::uint32_t type = d & 0x1f;
    const int level = static_cast<int>(d >> 5 & 7);
    if (level == 0 || (type != data && type != unified && type != loads)) continue;
    const std::int64_t ways = b >> 16, entries = ways * c;
    if ((b & 1) != 0) add(tlbs, {level, small_page, entries, ways});
    if ((b & 2) != 0) add(tlbs, {level, huge_page, entries, ways});
  }
  return tlbs;
}

/// The ways of an encoded range, whose least number the table has. Sets are selected by bits of the address,
/// so there are 2^k of them.
std::int64_t ways_of(std::uint32_t code, std::int64_t entries) {
  constexpr std::array<std::int64_t, 15> least = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128};
  if (code >= least.size()) return entries; // fully associative
  const auto next = std::ranges::find_if(least, [&](std::int64_t other) { return other > least.at(code); });
  const std::int64_t end = least.at(code) == 0 ? 0 : next == least.end() ? entries + 1 : *next;
  for (std::int64_t ways = least.at(code); ways < std::min(end, entries + 1); ++ways)
    if (entries % ways == 0 && std::has_single_bit(static_cast<std::uint64_t>(entries / ways))) return ways;
  return unknown;
}

std::vector<Tlb> extended(const CpuidReader& read) {
  std::vector<Tlb> tlbs;
  const auto first = read(0x80000005, 0), second = read(0x80000006, 0), features = read(0x80000021, 0);
  constexpr std::uint32_t sizes_times_32 = 1U << 14; // L2TlbSizeX32
  const std::int64_t factor = features && ((*features)[0] & sizes_times_32) != 0 ? 32 : 1;
  for (const auto& [page, at] : {std::pair(small_page, 1U), std::pair(huge_page, 0U)}) {
    const std::uint32_t one = first ? first->at(at) >> 16 : 0, two = second ? second->at(at) >> 16 : 0;
    if (const std::int64_t entries = one & 0xff, ways = one >> 8; entries > 0)
      tlbs.push_back({1, page, entries, ways == 0xff ? entries : ways});
    if (const std::int64_t entries = factor * (two & 0xfff); entries > 0 && two >> 12 != 0)
      tlbs.push_back({2, page, entries, ways_of(two >> 12, entries)});
  }
  return tlbs;
}

} // namespace

std::vector<Tlb> decode_tlbs(const CpuidReader& read) {
  std::vector<Tlb> tlbs = deterministic(read);
  if (tlbs.empty()) tlbs = extended(read);
  std::erase_if(tlbs, [all = tlbs](const Tlb& tlb) {
    return std::ranges::any_of(all, [&](const Tlb& t) {
      return t.page == tlb.page &&
             (t.ways <= 0 || t.entries > max_entries || t.entries <= 0 || t.entries % t.ways != 0);
    });
  });
  std::ranges::sort(tlbs, {}, [](const Tlb& t) { return std::pair(t.page, t.level); });
  return tlbs;
}

} // namespace recount::host
