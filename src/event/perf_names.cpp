#include "event/perf_names.hpp"

#include "base/text.hpp"
#include "event/domain.hpp"

#include <algorithm>
#include <cctype>
#include <strings.h>
#include <utility>

namespace recount::event {
namespace {

bool word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

} // namespace

std::vector<std::string> sysfs_names(const std::string& name, const std::vector<host::Pmu>& pmus) {
  const auto colon = name.find(':');
  const std::string stem = name.substr(0, colon), rest = colon == std::string::npos ? "" : name.substr(colon);
  std::vector<std::string> names;
  if (!word(stem)) return names;
  for (const host::Pmu& pmu : pmus) {
    if (!pmu.core()) continue;
    const auto same = [&](const auto& alias) { return strcasecmp(alias.first.c_str(), stem.c_str()) == 0; };
    const auto alias = std::ranges::find_if(pmu.events, same);
    if (alias != pmu.events.end()) names.push_back(pmu.name + "/" + alias->first + "/" + rest);
  }
  return names;
}

namespace {
Event event_of(const std::string& name, const char* pmu, std::uint32_t type, std::uint64_t config,
               std::optional<Domain> given, Domain fallback) {
  Event event;
  event.name = name;
  event.pmu = pmu;
  event.attr.size = sizeof event.attr;
  event.attr.type = type;
  event.attr.config = config;
  event.domain_given = given.has_value();
  apply(given.value_or(fallback), event.attr);
  return event;
}
} // namespace

std::optional<Event> software_event(const std::string& name, Domain fallback) {
  constexpr std::pair<const char*, std::uint64_t> events[] = {
      {"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
      {"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
      {"dummy", PERF_COUNT_SW_DUMMY},
      {"bpf-output", PERF_COUNT_SW_BPF_OUTPUT}};
  const Split split = split_domain(name);
  for (const auto& [known, config] : events)
    if (split.name == known)
      return event_of(name, "software", PERF_TYPE_SOFTWARE, config, split.domain, fallback);
  return {};
}

std::optional<Event> tracepoint(const std::string& name, Domain fallback,
                                const std::vector<std::string>& roots) {
  const Split split = split_domain(name);
  const auto colon = split.name.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view system = split.name.substr(0, colon), event = split.name.substr(colon + 1);
  if (!word(system) || !word(event)) return {};
  for (const std::string& root : roots) {
    const auto id =
        base::read_number(root + "/events/" + std::string(system) + "/" + std::string(event) + "/id");
    if (!id || *id < 0) continue;
    return event_of(name, "tracepoint", PERF_TYPE_TRACEPOINT, static_cast<std::uint64_t>(*id), split.domain,
                    fallback);
  }
  return {};
}

} // namespace recount::event
