#include "event/uncore.hpp"

#include "base/format.hpp"
#include "event/sysfs.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::event {
namespace {

bool same_code(const perf_event_attr& a, const perf_event_attr& b) {
  return a.config == b.config && a.config1 == b.config1 && a.config2 == b.config2;
}

/// Whether an event of the PMU's list is that of the attr. An event with parameters is none.
bool is_event(const host::Pmu& pmu, const std::string& alias, const perf_event_attr& attr) {
  try {
    return same_code(encode_sysfs(pmu.name + "/" + alias + "/", Domain::all, {pmu}).attr, attr);
  } catch (const Error&) {
    return false;
  }
}

std::optional<double> factor_of(const std::string& text) {
  const auto factor = base::parse<double>(text);
  return factor && *factor > 0 ? factor : std::nullopt;
}

/// Whether `text` is `stem`, an underline and digits.
bool numbered(const std::string& text, std::string_view stem) {
  if (!text.starts_with(stem) || text.size() < stem.size() + 2 || text[stem.size()] != '_') return false;
  return text.find_first_not_of("0123456789", stem.size() + 1) == std::string::npos;
}

} // namespace

std::optional<Scale> scale_of(const Event& event, const std::vector<host::Pmu>& pmus) {
  auto pmu = std::ranges::find(pmus, event.pmu, &host::Pmu::name);
  if (pmu == pmus.end()) pmu = std::ranges::find(pmus, event.attr.type, &host::Pmu::type); // named by libpfm4
  if (pmu == pmus.end() || pmu->core() || pmu->type != event.attr.type) return {};
  for (const auto& [alias, terms] : pmu->events) {
    const auto unit = pmu->units.find(alias);
    const auto scale = pmu->scales.find(alias);
    if ((unit == pmu->units.end() && scale == pmu->scales.end()) || !is_event(*pmu, alias, event.attr))
      continue;
    const auto factor = scale == pmu->scales.end() ? std::optional(1.0) : factor_of(scale->second);
    if (!factor) return {}; // without it the unit would be wrong
    return Scale{*factor, unit == pmu->units.end() ? "" : unit->second};
  }
  return {};
}

std::vector<std::string> instances(const std::string& name, const std::vector<host::Pmu>& pmus) {
  if (!in_sysfs_notation(name)) return {};
  const std::string stem = name.substr(0, name.find('/'));
  if (std::ranges::find(pmus, stem, &host::Pmu::name) != pmus.end()) return {};
  std::vector<std::string> names;
  for (const host::Pmu& pmu : pmus)
    if (numbered(pmu.name, stem)) names.push_back(pmu.name + name.substr(stem.size()));
  return names;
}

} // namespace recount::event
