#include "run/witness/metric_events.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/event/sysfs.hpp"
#include "count/papi/library.hpp"
#include "run/witness/counting.hpp"

#include <recount/papi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace recount::witness {
namespace {

/// The presets of this machine, or why there are none; read once.
struct Tables {
  std::optional<preset::MachinePresets> here;
  Reason trouble;
};

const Tables& tables() {
  static const Tables all = [] {
    Tables loaded;
    try {
      loaded.here.emplace(papi_table_version());
    } catch (const Error& error) {
      loaded.trouble = error.problem().about(error.problem().subject);
    }
    return loaded;
  }();
  return all;
}

/// Whether to read tables: events have a PMU before their name, and user events need a table.
bool may_be_preset(const std::string& metric) {
  return is_preset(metric) ||
         (metric.find_first_of(":/") == std::string::npos && !papi::private_tables().empty());
}

/// Whether a step of the formula, or of one in it, is the clock rate.
bool needs_clock(const preset::Written& written) {
  if (written.type == Derived::ps || written.type == Derived::add_ps) return true;
  if (written.postfix.find('#') != std::string::npos) return true;
  return std::ranges::any_of(
      written.operands, [](const auto& operand) { return operand.preset && needs_clock(*operand.preset); });
}

/// The event of a term: in `domain` unless it has its own, found in the same PMU as by PAPI.
Event encode_term(const std::string& name, const preset::CpuView& view, Domain domain) {
  const std::size_t component = name.find(":::");
  std::string bare = component == name.npos ? name : name.substr(component + 3);
  if (bare.find("::") == bare.npos) {
    const preset::Native& native = view.natives->of(name);
    if (native.ok()) bare = native.pmu + "::" + bare;
  }
  return encode(bare, domain);
}

void add_events(MetricEvents& requested, PresetFormula& formula, const preset::CpuView& view, Domain domain) {
  for (const std::string& name : natives(formula.written))
    formula.event_index[name] = event::place_among(requested.events, encode_term(name, view, domain));
}

/// Names the subject of the error unless it is the metric itself or the cause is common to all events.
Reason refusal(const std::string& metric, const Problem& problem) {
  const std::string& subject = problem.subject;
  const bool same = metric.starts_with(subject) || subject.starts_with(metric); // :k may have been added
  return same || problem.code == ReasonCode::no_pmu ? Reason(problem) : problem.about(subject);
}

MetricEvents refused(Reason why) {
  MetricEvents requested;
  requested.refused = std::move(why);
  return requested;
}

MetricEvents resolve_preset(const Preset& found, const preset::MachinePresets& here, Domain domain) {
  MetricEvents requested;
  auto formula = std::make_shared<PresetFormula>();
  formula->written = here.written(found);
  formula->papi_definition = found;
  requested.refused = formula->written.problem;
  requested.definition_unusable = !requested.refused.empty();
  if (requested.definition_unusable) return requested;
  try {
    add_events(requested, *formula, here.view(), domain);
  } catch (const Error& error) { // a term that is no event
    requested.refused = refusal(found.name, error.problem());
    requested.definition_unusable = true;
    return requested;
  }
  requested.linear = linear(formula->written);
  if (requested.events.empty()) requested.refused = "its preset definition names no event";
  if (needs_clock(formula->written)) formula->max_mhz = papi::max_mhz();
  requested.preset = std::move(formula);
  return requested;
}

MetricEvents resolve_unguarded(const std::string& metric, Domain domain, const GroupOptions& options) {
  if (is_time(metric)) return refused("a time, not a count: use the clock witness");
  if (may_be_preset(metric)) {
    const Tables& all = tables();
    const Preset* const found = all.here ? all.here->find(metric) : nullptr;
    if (found) return resolve_preset(*found, *all.here, domain);
    if (is_preset(metric)) return refused(all.here ? Reason(all.here->why_not(metric)) : all.trouble);
  }
  MetricEvents requested;
  const Counters counters(std::vector{domain == Domain::user ? counted_as(metric) : metric}, domain, options);
  requested.events = counters.events();
  requested.notes = counters.notes();
  return requested;
}

} // namespace

PapiVersion papi_table_version(std::string_view release) {
  const auto numbers = base::split(release, '.');
  const auto number = [&](std::size_t i) {
    return i < numbers.size() ? base::parse<int>(numbers[i]).value_or(0) : 0;
  };
  return std::pair(number(0), number(1)) < std::pair(7, 3) ? PapiVersion::v7_0 : PapiVersion::v7_3;
}
PapiVersion papi_table_version() {
  return papi_table_version(papi::version());
}

std::vector<std::string> table_presets() {
  std::vector<std::string> names;
  if (tables().here)
    for (const Preset& one : tables().here->view().loaded.presets)
      names.push_back(one.name);
  return names;
}

MetricEvents resolve_metric(const std::string& metric, Domain domain, const GroupOptions& options) {
  try {
    MetricEvents requested = resolve_unguarded(metric, domain, options);
    if (requested.refused.empty() && requested.preset) static_cast<void>(Counters(requested.events, options));
    return requested;
  } catch (const Error& error) {
    return refused(refusal(metric, error.problem()));
  }
}

// From the counts of a metric's events to its value.
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
  std::vector<long long> terms;
  for (const PresetNative& native : formula.papi_definition.natives) {
    const auto at = formula.event_index.find(native.name);
    if (at == formula.event_index.end()) return {};
    terms.push_back(scaled(counts[at->second]));
  }
  return evaluate(formula.papi_definition, terms, formula.max_mhz, papi_table_version());
}

void fill_preset(result::Observation& o, const PresetFormula& formula, std::span<const Count> counts) {
  for (const Count& count : counts)
    if (Reason why = why_not_scaled(count); !why.empty()) {
      o.reason = std::move(why);
      return;
    }
  const PresetValue value = evaluate(
      formula.written,
      [&](const std::string& native) -> long long { return scaled(counts[formula.event_index.at(native)]); },
      formula.max_mhz);
  const bool has_value = value.ending == PresetValue::Ending::value;
  if (has_value) {
    o.value = std::int64_t{value.value};
  } else {
    o.reason = value.why;
    o.flags.emplace_back(Flag::Kind::unevaluated_row, row_without_value);
  }
  const auto papi = papi_value(formula, counts);
  if (papi && papi->ending == PresetValue::Ending::value && !(has_value && papi->value == value.value))
    o.flags.emplace_back(Flag::Kind::other_papi_value,
                         fmt::format("PAPI computes {} from the same counts", papi->value));
}

} // namespace

void refuse_negative(result::Observation& o) {
  const auto value = result::as_double(o.value);
  if (!value || *value >= 0) return;
  o.reason = fmt::format("its formula gives {:.0f}, and no count is negative", *value);
  o.value = {};
}

void refuse(result::Observation& o, const MetricEvents& requested) {
  o.reason = requested.refused;
  if (requested.definition_unusable) o.flags.emplace_back(Flag::Kind::unevaluated_row, row_without_value);
  if (requested.refused.code == ReasonCode::crash)
    o.flags.emplace_back(Flag::Kind::papi_crashes, papi_crashes);
}

void flag_core_types(result::Observation& o, const MetricEvents& requested, std::span<const Count> counts) {
  if (requested.preset || requested.events.empty() ||
      !event::core_of(requested.events.front().attr, event::pmus()))
    return;
  if (std::ranges::count_if(counts, [](const Count& c) { return c.value.has_value(); }) < 2) return;
  std::string parts;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i].value)
      parts += fmt::format("{}{} {:.1f} %", parts.empty() ? "" : ", ", requested.events[i].pmu,
                           100 * share(counts[i]));
  o.flags.emplace_back(Flag::Kind::note, "sum of the core types, by time: " + parts);
}

void fill(result::Observation& o, const MetricEvents& requested, std::span<const Count> counts) {
  const Count whole = requested.preset ? least(counts) : sum_of_core_types(counts);
  o.enabled_ns = static_cast<std::int64_t>(whole.enabled_ns);
  o.running_ns = static_cast<std::int64_t>(whole.running_ns);
  if (requested.preset)
    fill_preset(o, *requested.preset, counts);
  else if (Reason why = why_not_scaled(whole); why.empty())
    o.value = scaled(whole);
  else
    o.reason = std::move(why);
  if (multiplexed(whole)) refuse_negative(o);
  if (o.value.index() != 0 && multiplexed(whole))
    o.flags.emplace_back(Flag::Kind::note,
                         fmt::format("multiplexed, counted {:.1f} % of the time", 100 * share(whole)));
}

} // namespace recount::witness
