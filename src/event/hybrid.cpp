#include "event/hybrid.hpp"

#include "event/domain.hpp"
#include "event/pfm.hpp"

#include <algorithm>

namespace recount::event {
namespace {

constexpr unsigned type_shift = 32; // PERF_PMU_TYPE_SHIFT
constexpr std::uint64_t code_mask = (std::uint64_t{1} << type_shift) - 1;

/// "perf::INSTRUCTIONS:u" without table and domain: what goes between the slashes.
std::string bare(const std::string& name) {
  const std::string plain = split_modifiers(name).name;
  const std::string_view stem = split_domain(plain).name;
  const auto prefix = stem.find("::");
  return std::string(prefix == std::string_view::npos ? stem : stem.substr(prefix + 2));
}

const char* letters(const Event& event) {
  if (!event.domain_given) return "";
  const Domain where = domain(event);
  return where == Domain::user ? ":u" : where == Domain::kernel ? ":k" : ":uk";
}

} // namespace

std::vector<const host::Pmu*> hybrid_cores(const std::vector<host::Pmu>& pmus) {
  std::vector<const host::Pmu*> cores;
  for (const host::Pmu& pmu : pmus)
    if (pmu.core()) cores.push_back(&pmu);
  return cores.size() > 1 ? cores : std::vector<const host::Pmu*>{};
}

bool generic(const perf_event_attr& attr) noexcept {
  return attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE;
}

std::optional<Code> generic_on(const std::string& name, std::uint32_t pmu_type) {
  const pfm::Encoded encoded = pfm::encode("perf::" + name, Domain::all);
  if (!encoded.ok || !generic(encoded.attr)) return {};
  return Code{encoded.attr.type, (encoded.attr.config & code_mask) | std::uint64_t{pmu_type} << type_shift};
}

const host::Pmu* core_of(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  const auto in_config = static_cast<std::uint32_t>(attr.config >> type_shift);
  const std::uint32_t default_type = PERF_TYPE_RAW;
  const std::uint32_t type = !generic(attr) ? attr.type : in_config == 0 ? default_type : in_config;
  for (const host::Pmu* core : hybrid_cores(pmus))
    if (core->type == type) return core;
  return nullptr;
}

namespace {
constexpr std::uint64_t slots_code = 0x0400;

bool has_slots(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  return std::ranges::any_of(pmus, [&](const host::Pmu& pmu) {
    return pmu.core() && pmu.type == attr.type && pmu.events.contains("slots");
  });
}
} // namespace

bool is_slots(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  return attr.config == slots_code && has_slots(attr, pmus);
}

bool is_topdown_metric(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  constexpr std::uint64_t first = 0x8000, last = 0x8700;
  return attr.config >= first && attr.config <= last && (attr.config & 0xff) == 0 && has_slots(attr, pmus);
}

perf_event_attr slots_beside(perf_event_attr attr) noexcept {
  attr.config = slots_code;
  attr.config1 = attr.config2 = 0;
  return attr;
}

const std::vector<int>& cpus_of(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  static const std::vector<int> all;
  if (const host::Pmu* const core = core_of(attr, pmus)) return core->cpus;
  for (const host::Pmu& pmu : pmus)
    if (!generic(attr) && pmu.type == attr.type && !pmu.core()) return pmu.cpumask;
  return all;
}

std::vector<Event> spread(const Event& event, const std::vector<const host::Pmu*>& cores) {
  std::vector<Event> events;
  for (const host::Pmu* core : cores) {
    Event one = event;
    one.name = core->name + "/" + bare(event.name) + "/" + letters(event);
    one.pmu = core->name;
    one.attr.config = (event.attr.config & code_mask) | std::uint64_t{core->type} << type_shift;
    events.push_back(one);
  }
  return events;
}

} // namespace recount::event
