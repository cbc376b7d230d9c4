#include "emulate/cpuid.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string>

namespace recount::emulate {
namespace {

constexpr const char* intel = "GenuineIntel";

/// The characters of a text from a position on, four for each register.
template <std::size_t Registers>
std::array<unsigned, Registers> words(const std::string& text, std::size_t from = 0) {
  std::array<unsigned, Registers> packed{};
  if (from < text.size()) text.copy(reinterpret_cast<char*>(packed.data()), sizeof packed, from);
  return packed;
}

/// Family and model in their fields, with the extended parts.
unsigned signature(const Processor& cpu) {
  constexpr unsigned extended = 15;
  const unsigned base = cpu.family > extended ? extended : cpu.family;
  return cpu.stepping | (cpu.model & 15) << 4 | base << 8 | cpu.model >> 4 << 16 | (cpu.family - base) << 20;
}

/// Architectural performance monitoring, version 4: all seven events.
CpuidLeaf performance(const Machine& machine) {
  constexpr unsigned leaf = 0xa;
  if (machine.processor.vendor != intel || machine.pmus.empty()) return {leaf, {}, {0, 0, 0, 0}};
  const Pmu& pmu = machine.pmus.front();
  const auto general = static_cast<unsigned>(pmu.general), width = static_cast<unsigned>(pmu.width);
  // The parts of PERF_METRICS are no counters.
  const auto fixed =
      std::ranges::count_if(pmu.fixed, [](const Fixed& one) { return one.codes.front().umask < 0x80; });
  return {leaf,
          {},
          {4U | general << 8 | width << 16 | 7U << 24, 0, 0, static_cast<unsigned>(fixed) | width << 5}};
}

/// L1d, L1i, L2, L3: number of the level, and whether it holds data (1), code (2) or both (3).
constexpr unsigned cache_levels[] = {1, 1, 2, 3}, cache_types[] = {1, 2, 3, 3};

void add_intel_caches(std::span<const CacheLevel> caches, std::vector<CpuidLeaf>& leaves) {
  constexpr unsigned leaf = 4;
  for (unsigned i = 0; i < std::min(caches.size(), std::size(cache_levels)); ++i) {
    const CacheLevel& cache = caches[i];
    const auto line = static_cast<unsigned>(cache.line), ways = static_cast<unsigned>(cache.ways);
    const auto sets = static_cast<unsigned>(cache.size / (cache.line * cache.ways));
    leaves.push_back(
        {leaf,
         i,
         {cache_types[i] | cache_levels[i] << 5 | 1U << 8, (line - 1) | (ways - 1) << 22, sets - 1, 0}});
  }
  leaves.push_back({leaf, {}, {0, 0, 0, 0}});
}

/// Associativity as AMD encodes it for L2 and L3; more ways than it names: as fully associative.
unsigned amd_ways(std::int64_t ways) {
  constexpr std::pair<int, unsigned> codes[] = {{1, 1},   {2, 2},   {4, 4},   {8, 6},   {16, 8},
                                                {32, 10}, {48, 11}, {64, 12}, {96, 13}, {128, 14}};
  for (const auto& [number, code] : codes)
    if (ways <= number) return code;
  return 15;
}

void add_amd_caches(std::span<const CacheLevel> caches, std::vector<CpuidLeaf>& leaves) {
  if (caches.size() < 3) return;
  const auto line = [](const CacheLevel& cache) { return 1U << 8 | static_cast<unsigned>(cache.line); };
  const auto first = [&](const CacheLevel& cache) {
    return static_cast<unsigned>(cache.size >> 10) << 24 | static_cast<unsigned>(cache.ways) << 16 |
           line(cache);
  };
  const auto later = [&](const CacheLevel& cache, unsigned amount) {
    return amount | amd_ways(cache.ways) << 12 | line(cache);
  };
  const CacheLevel& l2 = caches[2];
  const unsigned l3 =
      caches.size() > 3 ? later(caches[3], static_cast<unsigned>(caches[3].size >> 19) << 18) : 0;
  leaves.push_back({0x80000005, {}, {0, 0, first(caches[0]), first(caches[1])}});
  leaves.push_back({0x80000006, {}, {0, 0, later(l2, static_cast<unsigned>(l2.size >> 10) << 16), l3}});
}

} // namespace

std::vector<CpuidLeaf> cpuid_leaves(const Machine& machine) {
  const Processor& cpu = machine.processor;
  if (cpu.vendor.empty()) return {};
  const auto vendor = words<3>(cpu.vendor);
  std::vector<CpuidLeaf> leaves{{0, {}, {std::nullopt, vendor[0], vendor[2], vendor[1]}},
                                {1, {}, {signature(cpu)}},
                                performance(machine)};
  for (unsigned i = 0; i < 3; ++i) {
    const auto name = words<4>(cpu.name, 16UL * i);
    leaves.push_back({0x80000002 + i, {}, {name[0], name[1], name[2], name[3]}});
  }
  if (cpu.vendor == intel)
    add_intel_caches(machine.caches, leaves);
  else
    add_amd_caches(machine.caches, leaves);
  return leaves;
}

} // namespace recount::emulate
