#include "perf/sample_attr.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <ctime>

namespace recount::perf {
namespace {

constexpr std::uint64_t always_sampled = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                         PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;

perf_event_attr counting_nothing() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1; // else a user without privileges may not open it
  attr.exclude_hv = 1;
  return attr;
}

bool opens(const perf_event_attr& attr, OpenCall call) {
  return static_cast<bool>(open_sized(attr, {}, call).fd);
}

/// Common fields of all events of a ring.
void common(perf_event_attr& attr, const SamplingOptions& options, const RecordFormat& format,
            std::size_t ring) {
  attr.sample_type = format.sample_type;
  attr.read_format = format.read_format;
  attr.sample_regs_user = format.user_registers;
  attr.sample_regs_intr = format.interrupted_registers;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<std::uint32_t>(ring / 4);
  attr.inherit = options.inherit;
}

} // namespace

Features features(OpenCall call) {
  Features has;
  perf_event_attr attr = counting_nothing();
  attr.read_format = PERF_FORMAT_LOST;
  has.lost = opens(attr, call);
  attr = counting_nothing();
  attr.mmap = attr.mmap2 = attr.build_id = 1;
  has.build_ids = opens(attr, call);
  return has;
}

void check_sampled(const std::vector<SampledEvent>& events) {
  const auto samples = [](const SampledEvent& e) { return e.period != 0 || e.frequency != 0; };
  for (const SampledEvent& e : events)
    if (e.period != 0 && e.frequency != 0)
      throw bad_input(e.event.name, "has both a sampling period and a frequency", "use one of them");
  if (std::ranges::none_of(events, samples))
    throw bad_input("sampling", "no event has a period or a frequency", "set one for at least one event");
}

RecordFormat record_format(const SamplingOptions& options, const Features& has, bool frequency) {
  RecordFormat format;
  format.sample_type = always_sampled;
  // Asked for its period, a software event with a fixed one is sampled at every single occurrence
  // (perf_swevent_event() in kernel/events/core.c of Linux).
  if (frequency) format.sample_type |= PERF_SAMPLE_PERIOD;
  if (options.group) format.sample_type |= PERF_SAMPLE_READ;
  if (options.chains) format.sample_type |= PERF_SAMPLE_CALLCHAIN;
  if (options.latencies) format.sample_type |= PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
  if (options.branches != 0) format.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  if (options.user_registers != 0) format.sample_type |= PERF_SAMPLE_REGS_USER;
  if (options.interrupted_registers != 0) format.sample_type |= PERF_SAMPLE_REGS_INTR;
  format.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
  if (has.lost) format.read_format |= PERF_FORMAT_LOST;
  format.user_registers = options.user_registers;
  format.interrupted_registers = options.interrupted_registers;
  return format;
}

perf_event_attr sampling_attr(const SampledEvent& sampled, const SamplingOptions& options,
                              const RecordFormat& format, std::size_t ring, bool sibling) {
  perf_event_attr attr = sampled.event.attr;
  common(attr, options, format, ring);
  attr.freq = sampled.frequency != 0;
  attr.sample_period = attr.freq ? sampled.frequency : sampled.period;
  attr.precise_ip = sampled.precise & 3U;
  attr.disabled = !sibling;
  attr.enable_on_exec = options.enable_on_exec && !sibling;
  attr.branch_sample_type = options.branches;
  if (options.chains) {
    attr.sample_max_stack = static_cast<std::uint16_t>(std::min(options.frames, 0xffffU));
    attr.exclude_callchain_kernel = attr.exclude_kernel;
  }
  return attr;
}

perf_event_attr following_attr(const SamplingOptions& options, const RecordFormat& format,
                               const Features& has, std::size_t ring) {
  perf_event_attr attr = counting_nothing();
  RecordFormat plain = format; // it takes no samples, whose fields may need a permission
  plain.sample_type &= always_sampled;
  common(attr, options, plain, ring);
  attr.sample_regs_user = attr.sample_regs_intr = 0;
  attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
  attr.mmap_data = options.data_mappings;
  attr.build_id = options.build_ids && has.build_ids;
  return attr;
}

} // namespace recount::perf
