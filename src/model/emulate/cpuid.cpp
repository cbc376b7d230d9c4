#include "model/emulate/cpuid.hpp"

#include <algorithm>
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
CpuidLeaf performance(const SimulatedMachine& machine) {
  constexpr unsigned leaf = 0xa;
  if (machine.processor.vendor != intel || machine.pmus.empty()) return {leaf, {}, {0, 0, 0, 0}};
  const SimulatedPmu& pmu = machine.pmus.front();
  const auto general = static_cast<unsigned>(pmu.general), width = static_cast<unsigned>(pmu.width);
  // The parts of PERF_METRICS are no counters.
  const auto fixed = std::ranges::count_if(
      pmu.fixed, [](const FixedCounter& one) { return one.codes.front().umask < 0x80; });
  return {leaf,
          {},
          {4U | general << 8 | width << 16 | 7U << 24, 0, 0, static_cast<unsigned>(fixed) | width << 5}};
}

struct NamedLevel {
  const char* name;
  unsigned level, type; ///< type: data (1), code (2) or both (3)
};
constexpr NamedLevel cache_names[] = {{"L1d", 1, 1}, {"L1i", 1, 2}, {"L2", 2, 3}, {"L3", 3, 3}};

/// nullptr: the machine states none.
const CacheLevel* find_cache(std::span<const CacheLevel> caches, const char* name) {
  const auto found = std::ranges::find(caches, name, &CacheLevel::name);
  return found == caches.end() ? nullptr : &*found;
}

void add_intel_caches(std::span<const CacheLevel> caches, std::vector<CpuidLeaf>& leaves) {
  constexpr unsigned leaf = 4;
  unsigned part = 0;
  for (const NamedLevel& one : cache_names) {
    const CacheLevel* const cache = find_cache(caches, one.name);
    if (cache == nullptr) continue;
    const auto line = static_cast<unsigned>(cache->line), ways = static_cast<unsigned>(cache->ways);
    const auto sets = static_cast<unsigned>(cache->size / (cache->line * cache->ways));
    leaves.push_back(
        {leaf, part++, {one.type | one.level << 5 | 1U << 8, (line - 1) | (ways - 1) << 22, sets - 1, 0}});
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
  // `amount`, `ways`: in their fields. A level that the machine does not have is 0.
  const auto field = [&](const char* name, auto&& amount, auto&& ways) {
    const CacheLevel* const cache = find_cache(caches, name);
    return cache == nullptr ? 0U
                            : amount(static_cast<unsigned>(cache->size >> 10)) | ways(cache->ways) | 1U << 8 |
                                  static_cast<unsigned>(cache->line);
  };
  const auto first = [&](const char* name) {
    return field(
        name, [](unsigned kib) { return kib << 24; },
        [](std::int64_t ways) { return static_cast<unsigned>(ways) << 16; });
  };
  const auto encoded = [](std::int64_t ways) { return amd_ways(ways) << 12; };
  leaves.push_back({0x80000005, {}, {0, 0, first("L1d"), first("L1i")}});
  leaves.push_back({0x80000006,
                    {},
                    {0, 0,
                     field(
                         "L2", [](unsigned kib) { return kib << 16; }, encoded),
                     field(
                         "L3", [](unsigned kib) { return kib / 512 << 18; }, encoded)}});
}

} // namespace

std::vector<CpuidLeaf> cpuid_leaves(const SimulatedMachine& machine) {
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
