// Caches as sysfs and as the CPU's own CPUID leaves state them: hwloc's view is usually one of the two. TLBs
// as CPUID states them.
#include "host/machine.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <sched.h>
#include <thread>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace recount::host {
namespace {

void sort_caches(std::vector<Cache>& caches) {
  std::ranges::sort(caches, {}, [](const Cache& c) { return std::pair(c.level, c.type); });
}

#if defined(__x86_64__) || defined(__i386__)
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
  sort_caches(caches);
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
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(cpu), &only);
    if (cpu >= 0 && cpu < CPU_SETSIZE && ::sched_setaffinity(0, sizeof only, &only) == 0) ask();
  });
  asking.join();
}

} // namespace

std::vector<Cache> caches_in_sysfs(int cpu) {
  std::vector<Cache> caches;
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
  for (int index = 0; std::filesystem::exists(folder + std::to_string(index)); ++index) {
    const std::string at = folder + std::to_string(index) + "/";
    const std::string size = base::read_line(at + "size").value_or(""),
                      type = base::read_line(at + "type").value_or("");
    if (size.empty() || type.empty()) continue;
    Cache cache;
    cache.level = static_cast<int>(base::read_number(at + "level").value_or(0));
    cache.type = type == "Data" ? 'd' : type == "Instruction" ? 'i' : 'u';
    cache.size = std::atoll(size.c_str()) * (size.back() == 'M' ? 1 << 20 : size.back() == 'K' ? 1 << 10 : 1);
    cache.line = base::read_number(at + "coherency_line_size").value_or(0);
    cache.ways = base::read_number(at + "ways_of_associativity").value_or(0);
    const auto sharing = base::parse_cpu_list(base::read_line(at + "shared_cpu_list").value_or(""));
    cache.shared_by = std::max(1, static_cast<int>(sharing.size()));
    if (cache.level > 0 && cache.size > 0) caches.push_back(cache);
  }
  sort_caches(caches);
  return caches;
}

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

} // namespace recount::host
