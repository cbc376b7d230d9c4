#include "event/domain.hpp"

#include "base/text.hpp"
#include "event/sysfs.hpp"

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

Modifiers split_modifiers(const std::string& name) {
  constexpr unsigned most_precise = 3;
  const Modifiers none{name};
  const bool terms = in_sysfs_notation(name);
  const auto colon = name.rfind(terms ? '/' : ':');
  if (colon == std::string::npos || colon == 0 || (!terms && name[colon - 1] == ':')) return none;
  std::string letters = name.substr(colon + 1);
  if (terms && letters.starts_with(':')) letters.erase(0, 1);
  Modifiers found;
  std::string domain;
  for (const char letter : letters) {
    const bool again = letter != 'p' && std::ranges::count(letters, letter) > 1;
    if (again) return none;
    switch (letter) {
    case 'p': ++found.precise; break;
    case 'P': found.precise = most_precise; break;
    case 'G': found.guest = true; break;
    case 'H': found.host = true; break;
    case 'u':
    case 'k':
    case 'h': domain += letter; break;
    default: return none;
    }
  }
  if (!found.any() || found.precise > most_precise) return none;
  found.name = name.substr(0, colon + (terms ? 1U : 0U)) + (domain.empty() ? "" : ":" + domain);
  return found;
}

void apply(const Modifiers& modifiers, perf_event_attr& attr) {
  if (modifiers.precise > 0) attr.precise_ip = modifiers.precise & 3U;
  if (!modifiers.guest && !modifiers.host) return;
  attr.exclude_host = modifiers.guest && !modifiers.host;
  attr.exclude_guest = modifiers.host && !modifiers.guest;
}

} // namespace recount::event
