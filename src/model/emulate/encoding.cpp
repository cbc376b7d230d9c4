#include "model/emulate/encoding.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace recount::emulate {
namespace {

constexpr std::uint64_t low_half = 0xffffffff;

/// PERF_TYPE_HARDWARE and _HW_CACHE carry the type of a PMU of a hybrid CPU in their upper half; without one
/// they mean the first PMU (Documentation/arch/x86 of perf: tools/perf/Documentation/intel-hybrid.txt).
int requested_pmu(const SimulatedMachine& machine, std::uint64_t config) {
  const auto type = static_cast<std::uint32_t>(config >> 32);
  for (std::size_t i = 0; i < machine.pmus.size(); ++i)
    if (machine.pmus[i].type == type) return static_cast<int>(i);
  return type == 0 ? 0 : -1;
}

Encoding encode_generic(const SimulatedMachine& machine, const perf_event_attr& attr,
                        const std::map<std::uint64_t, Configuration> SimulatedPmu::*table,
                        std::uint64_t most) {
  Encoding encoding;
  encoding.pmu = requested_pmu(machine, attr.config);
  if (encoding.pmu < 0) return {.error = ENOENT};
  if ((attr.config & low_half) >= most) return {.error = EINVAL};
  const auto& known = machine.pmus[static_cast<std::size_t>(encoding.pmu)].*table;
  const auto found = known.find(attr.config & low_half);
  if (found == known.end()) return {.error = ENOENT};
  encoding.config = found->second.config;
  encoding.config1 = found->second.config1;
  return encoding;
}

constexpr std::uint64_t max_cache_events = 0x20000;

/// -1 in every table of arch/x86/events: code is not written, TLBs of code and predictors are only looked up.
bool makes_no_sense(std::uint64_t cache_event) {
  const std::uint64_t cache = cache_event & 0xff, operation = cache_event >> 8 & 0xff;
  return (operation == PERF_COUNT_HW_CACHE_OP_WRITE && cache == PERF_COUNT_HW_CACHE_L1I) ||
         (operation != PERF_COUNT_HW_CACHE_OP_READ &&
          (cache == PERF_COUNT_HW_CACHE_ITLB || cache == PERF_COUNT_HW_CACHE_BPU));
}

bool suits(const SimulatedEvent& row, std::uint64_t config1) {
  return row.any_config1 || row.config1 == config1;
}

} // namespace

std::optional<Encoding> encode(const SimulatedMachine& machine, const perf_event_attr& attr) {
  if (machine.pmus.empty()) return {};
  if (attr.type == PERF_TYPE_HARDWARE)
    return encode_generic(machine, attr, &SimulatedPmu::generic, PERF_COUNT_HW_MAX);
  if (attr.type == PERF_TYPE_HW_CACHE && makes_no_sense(attr.config)) return Encoding{.error = EINVAL};
  if (attr.type == PERF_TYPE_HW_CACHE)
    return encode_generic(machine, attr, &SimulatedPmu::cache_event, max_cache_events);
  for (std::size_t i = 0; i < machine.pmus.size(); ++i)
    if (machine.pmus[i].type == attr.type) return Encoding{static_cast<int>(i), attr.config, attr.config1, 0};
  return {};
}

std::vector<const SimulatedEvent*> find_rows(const SimulatedPmu& pmu, std::uint64_t config,
                                             std::uint64_t config1) {
  const EventSelect code = decode_config(config);
  std::vector<const SimulatedEvent*> parts;
  for (const SimulatedEvent& row : pmu.rows) {
    if (!suits(row, config1)) continue;
    if (row.code == code) return {&row};
    EventSelect part = row.code;
    const bool bit = std::has_single_bit(part.umask) && (part.umask & code.umask) != 0;
    part.umask = code.umask;
    if (bit && part == code) parts.push_back(&row);
  }
  return parts;
}

namespace {

/// Bipartite matching by augmenting paths.
class Matching {
public:
  Matching(const SimulatedPmu& pmu, std::span<const Demand> demands, std::uint64_t taken)
      : demands_(demands), taken_(taken) {
    for (int i = 0; i < pmu.general; ++i)
      counters_.push_back(i);
    for (int i = 0; i < static_cast<int>(pmu.fixed.size()); ++i)
      counters_.push_back(first_fixed + i);
    holder_.assign(counters_.size(), -1);
  }

  std::vector<int> find() {
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      seen_.assign(counters_.size(), false);
      if (!place(static_cast<int>(i))) return {};
    }
    std::vector<int> where(demands_.size(), -1);
    for (std::size_t c = 0; c < counters_.size(); ++c)
      if (holder_[c] >= 0) where[static_cast<std::size_t>(holder_[c])] = counters_[c];
    return where;
  }

private:
  [[nodiscard]] bool suits(const Demand& demand, int counter) const {
    if ((taken_ & counter_bit(counter)) != 0) return false;
    if (counter < first_fixed) return ((demand.general >> counter) & 1) != 0;
    return std::ranges::find(demand.fixed, counter - first_fixed) != demand.fixed.end();
  }
  bool place(int who) {
    // Fixed counters first, as Linux does: they leave the general ones to others.
    for (std::size_t at = counters_.size(); at > 0; --at) {
      const std::size_t c = at - 1;
      if (seen_[c] || !suits(demands_[static_cast<std::size_t>(who)], counters_[c])) continue;
      seen_[c] = true;
      if (holder_[c] >= 0 && !place(holder_[c])) continue;
      holder_[c] = who;
      return true;
    }
    return false;
  }

  std::span<const Demand> demands_;
  std::uint64_t taken_;
  std::vector<int> counters_, holder_;
  std::vector<bool> seen_;
};

} // namespace

std::uint64_t counter_bit(int counter) {
  return std::uint64_t{1} << counter;
}

Demand demand(const SimulatedPmu& pmu, std::uint64_t config, std::uint64_t config1) {
  Demand needed;
  const EventSelect code = decode_config(config);
  bool only = false;
  for (std::size_t i = 0; i < pmu.fixed.size(); ++i) {
    if (std::ranges::find(pmu.fixed[i].codes, code) == pmu.fixed[i].codes.end()) continue;
    needed.fixed.push_back(static_cast<int>(i));
    only = only || pmu.fixed[i].only;
  }
  if (only) return needed;
  needed.general = ~std::uint64_t{0};
  for (const SimulatedEvent* row : find_rows(pmu, config, config1))
    needed.general &= row->counters;
  return needed;
}

std::vector<int> assign(const SimulatedPmu& pmu, std::span<const Demand> demands, std::uint64_t taken) {
  return Matching(pmu, demands, taken).find();
}

} // namespace recount::emulate
