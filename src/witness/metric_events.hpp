// A metric as perf counts it: events, and how their counts become its value.
#pragma once

#include "preset/written.hpp"
#include "result/observation.hpp"

#include <recount/count.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::witness {

/// A preset or user event: its definition, over events that perf counts.
struct PresetFormula {
  preset::Written written;
  std::map<std::string, std::size_t> event_of; ///< which event each native name is
  Preset papi_definition;                      ///< the definition in PAPI, which may differ
  int max_mhz = 0;                             ///< as PAPI states it; 0 where no formula needs it
};

struct MetricEvents {
  std::vector<Event>
      events; ///< of an event: it, on a hybrid CPU one for each core type; of a preset: its natives
  std::shared_ptr<const PresetFormula> preset; ///< null: an event
  Reason refused;                              ///< why it cannot be counted; empty: it can
  std::vector<std::string> notes;              ///< core types of a hybrid CPU that cannot count it
  bool by_row = false;                         ///< refused because of the preset definition
  bool linear = true; ///< linear in the counts: counts of an empty region can be subtracted
};

/// How PAPI `release` ("7.1.0.0") reads tables. No function of PAPI returns the number of terms, and
/// PAPI_MAX_INFO_TERMS is 12 in all releases: PAPI_EVENTS_IN_DERIVED_EVENT (papi_internal.h) is 8 up to 7.2
/// and 12 from 7.3 on.
[[nodiscard]] PapiVersion papi_reading(std::string_view release);
/// How the PAPI of this machine reads tables.
[[nodiscard]] PapiVersion papi_reading();

/// The presets and user events of the tables that PAPI reads here; none where they cannot be read.
[[nodiscard]] std::vector<std::string> presets_here();

/// Encodes the metric, and tries it alone so that a refusal names it. Presets and user events are those of
/// the tables that PAPI reads, each event without a domain of its own in `domain`. Never throws
/// recount::Error.
/// `options`: what the trial counts.
[[nodiscard]] MetricEvents resolve_metric(const std::string& metric, Domain domain = Domain::user,
                                          const GroupOptions& options = {});

/// Puts the reason why it is refused into the observation.
void refuse(result::Observation& o, const MetricEvents& requested);

/// Puts the value into the observation, or the reason why there is none. `counts` are those of its events; on
/// a hybrid CPU the value is the sum over core types.
/// A value that covers only part of the time, and one that PAPI would compute otherwise from the same counts,
/// gets a flag.
void fill(result::Observation& o, const MetricEvents& requested, std::span<const Count> counts);

/// Flags the value of an event that was counted on several core types with the share of time on each.
void flag_core_types(result::Observation& o, const MetricEvents& requested, std::span<const Count> counts);

} // namespace recount::witness
