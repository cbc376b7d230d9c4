#include "event/hybrid.hpp"

#include "event/domain.hpp"
#include "event/pfm.hpp"

namespace recount::event {
namespace {

constexpr unsigned type_shift = 32; // PERF_PMU_TYPE_SHIFT
constexpr std::uint64_t code_mask = (std::uint64_t{1} << type_shift) - 1;

/// "perf::INSTRUCTIONS:u" without table and domain: what goes between the slashes.
std::string bare(const std::string& name) {
  const std::string_view stem = split_domain(name).name;
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
