// Converts an event to sample and its options to perf_event_attr.
#pragma once

#include "perf/record.hpp"
#include "perf/try_open.hpp"

#include <recount/sampling.hpp>

namespace recount::perf {

/// Kernel features beyond Linux 4.12, probed once with a dummy event.
struct Features {
  bool lost = false;      ///< PERF_FORMAT_LOST, Linux 6.0
  bool build_ids = false; ///< perf_event_attr.build_id, Linux 5.12
};
[[nodiscard]] Features features(OpenCall call = open_call);

/// Throws Error (bad_input): no events, an event with both period and frequency, nothing that samples.
void check_sampled(const std::vector<SampledEvent>& events);

/// The record format of an event. All events of a sampling share the fields before the period of a sample and
/// the trailer of other records.
[[nodiscard]] RecordFormat record_format(const SamplingOptions& options, const Features& has, bool frequency);

/// The attr of an event, disabled; that of a group's sibling is enabled with its leader. `ring` is the bytes
/// of the ring that it will write to.
[[nodiscard]] perf_event_attr sampling_attr(const SampledEvent& event, const SamplingOptions& options,
                                            const RecordFormat& format, std::size_t ring, bool sibling);

/// The attr of the dummy event that records Mapping, Name, Fork and End, enabled from the start.
[[nodiscard]] perf_event_attr following_attr(const SamplingOptions& options, const RecordFormat& format,
                                             const Features& has, std::size_t ring);

} // namespace recount::perf
