// Opens the events of a Sampling on threads and CPUs, and their rings.
#pragma once

#include "perf/ring.hpp"
#include "perf/sample_attr.hpp"
#include "process/fd.hpp"

#include <recount/sampling.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace recount::perf {

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

/// Fills in occurrences, times and lost of each event, summed over the contexts; the rest of `into`, which
/// has one element per event, is unchanged. Returns the records lost by followers. Throws Error when the
/// kernel refuses.
std::uint64_t read_counts(const OpenSampling& open, std::vector<SampledCount>& into);

} // namespace recount::perf
