#include "emulate/encoding.hpp"

#include <bit>
#include <cerrno>

namespace recount::emulate {
namespace {

constexpr std::uint64_t low_half = 0xffffffff;

/// PERF_TYPE_HARDWARE and _HW_CACHE carry the type of a PMU of a hybrid CPU in their upper half; without one
/// they mean the first PMU (Documentation/arch/x86 of perf: tools/perf/Documentation/intel-hybrid.txt).
int pmu_asked(const Machine& machine, std::uint64_t config) {
  const auto type = static_cast<std::uint32_t>(config >> 32);
  for (std::size_t i = 0; i < machine.pmus.size(); ++i)
    if (machine.pmus[i].type == type) return static_cast<int>(i);
  return type == 0 ? 0 : -1;
}

Encoding looked_up(const Machine& machine, const perf_event_attr& attr,
                   const std::map<std::uint64_t, Configuration> Pmu::*table, std::uint64_t most) {
  Encoding made;
  made.pmu = pmu_asked(machine, attr.config);
  if (made.pmu < 0) return {.error = ENOENT};
  if ((attr.config & low_half) >= most) return {.error = EINVAL};
  const auto& known = machine.pmus[static_cast<std::size_t>(made.pmu)].*table;
  const auto found = known.find(attr.config & low_half);
  if (found == known.end()) return {.error = ENOENT};
  made.config = found->second.config;
  made.config1 = found->second.config1;
  return made;
}

constexpr std::uint64_t most_cache_events = 0x20000;

bool suits(const Row& row, std::uint64_t config1) {
  return row.any_config1 || row.config1 == config1;
}

} // namespace

std::optional<Encoding> encode(const Machine& machine, const perf_event_attr& attr) {
  if (machine.pmus.empty()) return {};
  if (attr.type == PERF_TYPE_HARDWARE) return looked_up(machine, attr, &Pmu::generic, PERF_COUNT_HW_MAX);
  if (attr.type == PERF_TYPE_HW_CACHE) return looked_up(machine, attr, &Pmu::cache_event, most_cache_events);
  for (std::size_t i = 0; i < machine.pmus.size(); ++i)
    if (machine.pmus[i].type == attr.type) return Encoding{static_cast<int>(i), attr.config, attr.config1, 0};
  return {};
}

std::vector<const Row*> rows_of(const Pmu& pmu, std::uint64_t config, std::uint64_t config1) {
  const Code code = code_of(config);
  std::vector<const Row*> parts;
  for (const Row& row : pmu.rows) {
    if (!suits(row, config1)) continue;
    if (row.code == code) return {&row};
    Code part = row.code;
    const bool bit = std::has_single_bit(part.umask) && (part.umask & code.umask) != 0;
    part.umask = code.umask;
    if (bit && part == code) parts.push_back(&row);
  }
  return parts;
}

} // namespace recount::emulate
