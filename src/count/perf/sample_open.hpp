// Opens the events of a Sampling on threads and CPUs, and their rings; reads their counts.
#pragma once

#include "base/process/fd.hpp"
#include "count/perf/open_group.hpp"
#include "count/perf/record.hpp"
#include "count/perf/try_open.hpp"

#include <recount/sampling.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace recount::perf {

/// Kernel features beyond Linux 4.12.
struct Features {
  bool lost = false;      ///< PERF_FORMAT_LOST, Linux 6.0
  bool build_ids = false; ///< perf_event_attr.build_id, Linux 5.12
};
/// Probes them with a dummy event, on each call.
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

/// All events on one thread (-1: all threads) and one CPU (-1: all CPUs).
struct Context {
  pid_t tid = 0;
  int cpu = -1;
  process::Fd follower; ///< only with SamplingOptions::follow
  std::uint64_t follower_id = 0;
  std::vector<process::Fd> fds;   ///< parallel to OpenSampling::events; empty: its PMU does not have this CPU
  std::vector<std::uint64_t> ids; ///< the kernel's, parallel to fds
  [[nodiscard]] int first_fd() const {
    return follower ? follower.get() : std::ranges::find_if(fds, &process::Fd::operator bool)->get();
  }
};

/// A ring, and the CPU that it belongs to.
struct CpuRing {
  std::unique_ptr<Ring> ring;
  int cpu = -1;
  int owner = -1; ///< the descriptor to which others redirect their output
};

struct OpenSampling {
  std::vector<SampledEvent> events; ///< `precise` lowered to the granted level
  SamplingOptions options;
  Features has;
  RecordFormat format, with_period; ///< of events with a fixed period, and with a frequency
  std::vector<Context> contexts;
  std::vector<CpuRing> rings;
  [[nodiscard]] const RecordFormat& format_of(const SampledEvent& event) const {
    return event.frequency != 0 ? with_period : format;
  }
};

/// The ioctl on every event of every context (the leaders where they are a group). Throws Error.
void control(const OpenSampling& open, unsigned long request, const char* what);
/// Changes the period, or the frequency where the event has one. Throws Error.
void set_period(OpenSampling& open, std::size_t event, std::uint64_t period);

/// Throws Error, see Sampling's constructor.
[[nodiscard]] OpenSampling open_sampling(std::vector<SampledEvent> events, const SamplingOptions& options);

/// Adds what was read of an event on one thread and CPU. `followed_ns`: enabled time of the follower
/// on that thread and CPU; 0: there is none. Pure.
void add_read(SampledCount& count, const Raw& raw, const Times& times, std::uint64_t followed_ns);

/// Fills in occurrences, times and lost of each event, summed over the contexts; the rest of `into`, which
/// has one element per event, is unchanged. Returns the records lost by followers. Throws Error when the
/// kernel refuses.
std::uint64_t read_counts(const OpenSampling& open, std::vector<SampledCount>& into);

/// Context and event of an id, as indices.
struct Placed {
  std::uint64_t id = 0;
  std::size_t context = 0, event = 0;
};

/// All ids of an open sampling; searching allocates nothing.
class SampleIds {
public:
  explicit SampleIds(const OpenSampling& open) {
    for (std::size_t c = 0; c < open.contexts.size(); ++c)
      for (std::size_t e = 0; e < open.contexts[c].ids.size(); ++e)
        if (open.contexts[c].fds[e]) ids_.push_back({open.contexts[c].ids[e], c, e});
    std::ranges::sort(ids_, {}, &Placed::id);
  }
  [[nodiscard]] const Placed* find(std::uint64_t id) const noexcept {
    const auto at = std::ranges::lower_bound(ids_, id, {}, &Placed::id);
    return at != ids_.end() && at->id == id ? &*at : nullptr;
  }

private:
  std::vector<Placed> ids_;
};

} // namespace recount::perf
