// A metric as perf counts it: events, and the value from their counts.
#pragma once

#include "count/preset/written.hpp"
#include "run/result/observation.hpp"

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
  std::map<std::string, std::size_t> event_index; ///< by native name: its index in MetricEvents::events
  Preset papi_definition;                         ///< the definition in PAPI, which may differ
  int max_mhz = 0;                                ///< clock rate by PAPI; 0 where no formula needs it
};

struct MetricEvents {
  /// The event (one per core type on a hybrid CPU), or the native events of the preset.
  std::vector<Event> events;
  std::shared_ptr<const PresetFormula> preset; ///< null: an event
  Reason refused;                              ///< why it cannot be counted; empty if it can
  std::vector<std::string> notes;              ///< core types of a hybrid CPU that cannot count it
  bool definition_unusable = false;            ///< refused because of the preset definition
  bool linear = true; ///< linear in the counts: counts of an empty region can be subtracted
};

/// Table format of a PAPI release ("7.1.0.0"). No function of PAPI returns the number of terms, and
/// PAPI_MAX_INFO_TERMS is 12 in all releases: PAPI_EVENTS_IN_DERIVED_EVENT (papi_internal.h) is 8 up to 7.2
/// and 12 from 7.3 on.
[[nodiscard]] PapiVersion papi_table_version(std::string_view release);
/// Table format of the PAPI of this machine.
[[nodiscard]] PapiVersion papi_table_version();

/// The presets and user events of the tables that PAPI reads here; none where they cannot be read.
[[nodiscard]] std::vector<std::string> table_presets();

/// Encodes the metric, and tries it alone so that a refusal names it. Presets and user events are those of
/// the tables that PAPI reads, each event without a domain of its own in `domain`. Never throws
/// recount::Error.
/// `options`: what the trial counts.
[[nodiscard]] MetricEvents resolve_metric(const std::string& metric, Domain domain = Domain::user,
                                          const GroupOptions& options = {});

/// Stores in the observation why the metric cannot be counted.
void refuse(result::Observation& o, const MetricEvents& requested);

/// Stores the value in the observation, or the reason why there is none. `counts` are those of the events; on
/// a hybrid CPU the value is the sum over core types. Flags a multiplexed value, and a value that PAPI
/// computes differently.
void fill(result::Observation& o, const MetricEvents& requested, std::span<const Count> counts);

/// Takes a value below 0 away, with a reason: a formula over counts that were estimated, or that do not
/// belong together. fill() does so with estimates alone: a formula that gives less than 0 for exact counts is
/// wrong, which recount check proves.
void refuse_negative(result::Observation& o);

/// Adds to the value of an event on several core types a flag with the share of time on each.
void flag_core_types(result::Observation& o, const MetricEvents& requested, std::span<const Count> counts);

} // namespace recount::witness
