// From the counts of a metric's events to its value.
#include "event/hybrid.hpp"
#include "event/sysfs.hpp"
#include "witness/counting.hpp"
#include "witness/metric_events.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace recount::witness {
namespace {

std::int64_t scaled(const Count& count) {
  return multiplexed(count) ? static_cast<std::int64_t>(std::llround(scale(count).value_or(0)))
                            : static_cast<std::int64_t>(*count.value);
}

/// The count of the event with the shortest running time, which limits the metric.
const Count& least(std::span<const Count> counts) {
  return *std::ranges::min_element(counts, {}, [](const Count& c) { return share(c); });
}

/// The value PAPI would compute from the same counts; nothing if unknown.
std::optional<PresetValue> papi_value(const PresetFormula& formula, std::span<const Count> counts) {
  std::vector<long long> its;
  for (const PresetNative& native : formula.papi_definition.natives) {
    const auto at = formula.event_of.find(native.name);
    if (at == formula.event_of.end()) return {};
    its.push_back(scaled(counts[at->second]));
  }
  return evaluate(formula.papi_definition, its, formula.max_mhz, papi_reading());
}

void fill_preset(result::Observation& o, const PresetFormula& formula, std::span<const Count> counts) {
  const auto missing = std::ranges::find_if(counts, [](const Count& c) { return !c.value; });
  if (missing != counts.end()) {
    o.reason = missing->reason;
    return;
  }
  const PresetValue value = evaluate(
      formula.written,
      [&](const std::string& native) -> long long { return scaled(counts[formula.event_of.at(native)]); },
      formula.max_mhz);
  const bool has_value = value.ending == PresetValue::Ending::value;
  if (has_value) {
    o.value = std::int64_t{value.value};
  } else {
    o.reason = value.why;
    o.flags.emplace_back(row_without_value);
  }
  const auto papi = papi_value(formula, counts);
  if (papi && papi->ending == PresetValue::Ending::value && !(has_value && papi->value == value.value))
    o.flags.push_back(fmt::format("{}{} from the same counts", papi_computes, papi->value));
}

} // namespace

void refuse(result::Observation& o, const MetricEvents& asked) {
  o.reason = asked.refused;
  if (asked.by_row) o.flags.emplace_back(row_without_value);
}

void flag_core_types(result::Observation& o, const MetricEvents& asked, std::span<const Count> counts) {
  if (asked.preset || asked.events.empty() || !event::core_of(asked.events.front().attr, event::pmus()))
    return;
  if (std::ranges::count_if(counts, [](const Count& c) { return c.value.has_value(); }) < 2) return;
  std::string parts;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i].value)
      parts += fmt::format("{}{} {:.1f} %", parts.empty() ? "" : ", ", asked.events[i].pmu,
                           100 * share(counts[i]));
  o.flags.push_back("sum of the core types, by time: " + parts);
}

void fill(result::Observation& o, const MetricEvents& asked, std::span<const Count> counts) {
  const Count whole = asked.preset ? least(counts) : sum_of_core_types(counts);
  o.enabled_ns = static_cast<std::int64_t>(whole.enabled_ns);
  o.running_ns = static_cast<std::int64_t>(whole.running_ns);
  if (asked.preset)
    fill_preset(o, *asked.preset, counts);
  else if (whole.value)
    o.value = scaled(whole);
  else
    o.reason = whole.reason;
  if (o.value.index() != 0 && multiplexed(whole))
    o.flags.push_back(fmt::format("multiplexed, counted {:.1f} % of the time", 100 * share(whole)));
}

} // namespace recount::witness
