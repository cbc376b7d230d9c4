// The C interface: regions, overflow and sampling.
#include "perf/c_guard.hpp"

#include <recount/overflow.hpp>
#include <recount/region.hpp>
#include <recount/sampling.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>

struct recount_overflow {
  std::optional<recount::Overflow> overflow;
};
struct recount_sampling {
  std::optional<recount::Sampling> sampling;
};

namespace recount::perf {
namespace {

static_assert(sizeof(Region) <= sizeof(recount_region));
static_assert(alignof(Region) <=
              alignof(recount_region)); // NOLINT(misc-redundant-expression): equal on some machines

Event encoded(const char* const* names, std::size_t i, const recount_options& options) {
  return encode(&require(names[i], "name of an event"), domain_of(options));
}

void require_flags(const recount_options& options, unsigned allowed, const char* function) {
  if ((options.flags & ~allowed) != 0)
    throw bad_input(function, "a flag that it does not know: " + std::to_string(options.flags & ~allowed),
                    "recount.h says which flags are for it");
  if (options.cpu != -1) throw bad_input(function, "cpu is not -1", "leave it as in RECOUNT_OPTIONS");
}

OverflowCallback c_callback(recount_overflow_callback callback, void* argument) {
  return [callback, argument](const OverflowCall& call) {
    const recount_overflow_call given{call.address, call.data_address, call.events, call.pid,
                                      call.tid,     call.emulated,     call.context};
    callback(&given, argument);
  };
}

std::unique_ptr<recount_overflow> open_overflow(const char* const* names, const std::uint64_t* thresholds,
                                                std::size_t number, recount_overflow_callback callback,
                                                void* argument, const recount_options* given) {
  const recount_options options = known_options(given);
  require_flags(options, RECOUNT_INHERIT, "recount_overflow_open");
  require(callback, "callback");
  if (number > 0) {
    require(names, "names");
    require(thresholds, "thresholds");
  }
  std::vector<OverflowEvent> events;
  for (std::size_t i = 0; i < number; ++i)
    events.push_back({encoded(names, i, options), thresholds[i]});
  OverflowOptions how;
  how.delivery = given == nullptr ? Delivery::signal : Delivery::thread;
  how.pid = options.pid;
  how.inherit = (options.flags & RECOUNT_INHERIT) != 0;
  auto opened = std::make_unique<recount_overflow>();
  opened->overflow.emplace(std::move(events), c_callback(callback, argument), how);
  return opened;
}

std::unique_ptr<recount_sampling> open_sampling_c(const char* const* names, const std::uint64_t* periods,
                                                  std::size_t number, const recount_options* given) {
  const recount_options options = known_options(given);
  require_flags(options, RECOUNT_INHERIT | RECOUNT_ENABLE_ON_EXEC | RECOUNT_CHAINS | RECOUNT_FREQUENCY,
                "recount_sampling_open");
  if (number > 0) {
    require(names, "names");
    require(periods, "periods");
  }
  const bool frequency = (options.flags & RECOUNT_FREQUENCY) != 0;
  std::vector<SampledEvent> events;
  for (std::size_t i = 0; i < number; ++i)
    events.push_back({encoded(names, i, options), frequency ? 0 : periods[i], frequency ? periods[i] : 0, 0});
  SamplingOptions how;
  how.pid = options.pid;
  how.inherit = (options.flags & RECOUNT_INHERIT) != 0;
  how.enable_on_exec = (options.flags & RECOUNT_ENABLE_ON_EXEC) != 0;
  how.chains = (options.flags & RECOUNT_CHAINS) != 0;
  auto opened = std::make_unique<recount_sampling>();
  opened->sampling.emplace(std::move(events), how);
  return opened;
}

Overflow& require_overflow(recount_overflow* overflow) {
  return *require(overflow, "overflow").overflow;
}
Sampling& require_sampling(recount_sampling* sampling) {
  return *require(sampling, "sampling").sampling;
}

Sampling::Sink c_sink(recount_sink sink, void* argument) {
  return [sink, argument](const Record& record) {
    const auto* const sample = std::get_if<Sample>(&record);
    if (sample == nullptr) return;
    const recount_sample given{sample->event,        sample->time,        sample->ip,  sample->address,
                               sample->period,       sample->pid,         sample->tid, sample->cpu,
                               sample->chain.data(), sample->chain.size()};
    sink(&given, argument);
  };
}

void fill(std::uint64_t* into, std::uint64_t value) {
  if (into != nullptr) *into = value;
}

} // namespace
} // namespace recount::perf

using recount::perf::guarded;
using recount::perf::made_or_null;
using recount::perf::require;
using recount::perf::require_overflow;
using recount::perf::require_sampling;

extern "C" {

int recount_region_events(const char* const* names, size_t number) {
  return guarded([&] {
    std::vector<std::string> all;
    if (number > 0) require(names, "names");
    for (std::size_t i = 0; i < number; ++i)
      all.emplace_back(&require(names[i], "name of an event"));
    recount::region_events(std::move(all));
  });
}
void recount_region_begin(recount_region* region, const char* name) {
  if (region != nullptr) ::new (static_cast<void*>(region)) recount::Region(name == nullptr ? "" : name);
}
void recount_region_end(recount_region* region) {
  if (region != nullptr) std::launder(reinterpret_cast<recount::Region*>(region))->~Region();
}
int recount_region_total(const char* name, size_t event, uint64_t* calls, uint64_t* count) {
  return guarded([&] {
    const std::string wanted = &require(name, "name");
    const auto totals = recount::region_totals();
    const auto found = std::ranges::find(totals, wanted, &recount::RegionTotal::name);
    if (found == totals.end()) throw recount::bad_input(wanted, "no region of that name has begun");
    recount::perf::fill(calls, found->calls);
    if (count == nullptr) return;
    recount::require_index("event of a region", event, found->events.size());
    const auto& total = found->events[event];
    if (!total.count) throw recount::Error(recount::ErrorKind::unavailable, {total.name, total.reason});
    *count = *total.count;
  });
}

recount_overflow* recount_overflow_open(const char* const* names, const uint64_t* thresholds, size_t number,
                                        recount_overflow_callback callback, void* argument,
                                        const recount_options* options) {
  return made_or_null(
      [&] { return recount::perf::open_overflow(names, thresholds, number, callback, argument, options); });
}
int recount_overflow_start(recount_overflow* overflow) {
  return guarded([&] { require_overflow(overflow).start(); });
}
int recount_overflow_stop(recount_overflow* overflow) {
  return guarded([&] { require_overflow(overflow).stop(); });
}
int recount_overflow_set_threshold(recount_overflow* overflow, size_t event, uint64_t threshold) {
  return guarded([&] { require_overflow(overflow).set_threshold(event, threshold); });
}
int recount_overflow_counts(recount_overflow* overflow, size_t event, uint64_t* occurrences,
                            uint64_t* overflows) {
  return guarded([&] {
    const auto counts = require_overflow(overflow).counts();
    recount::require_index("event of an overflow", event, counts.size());
    recount::perf::fill(occurrences, counts[event].occurrences);
    recount::perf::fill(overflows, counts[event].overflows);
  });
}
void recount_overflow_close(recount_overflow* overflow) {
  delete overflow;
}

recount_sampling* recount_sampling_open(const char* const* names, const uint64_t* periods, size_t number,
                                        const recount_options* options) {
  return made_or_null([&] { return recount::perf::open_sampling_c(names, periods, number, options); });
}
int recount_sampling_start(recount_sampling* sampling) {
  return guarded([&] { require_sampling(sampling).start(); });
}
int recount_sampling_stop(recount_sampling* sampling) {
  return guarded([&] { require_sampling(sampling).stop(); });
}
int recount_sampling_wait(recount_sampling* sampling, unsigned milliseconds) {
  int more = 0;
  const int result = guarded(
      [&] { more = require_sampling(sampling).wait(std::chrono::milliseconds(milliseconds)) ? 1 : 0; });
  return result == 0 ? more : result;
}
int recount_sampling_read(recount_sampling* sampling, recount_sink sink, void* argument, int last) {
  return guarded([&] {
    require(sink, "sink");
    const auto each = recount::perf::c_sink(sink, argument);
    auto& open = require_sampling(sampling);
    last != 0 ? open.finish(each) : open.read(each);
  });
}
int recount_sampling_counts(recount_sampling* sampling, size_t event, uint64_t* occurrences, uint64_t* lost) {
  return guarded([&] {
    const auto report = require_sampling(sampling).report();
    recount::require_index("event of a sampling", event, report.events.size());
    recount::perf::fill(occurrences, report.events[event].occurrences);
    recount::perf::fill(lost, report.events[event].lost.value_or(report.lost_records));
  });
}
void recount_sampling_close(recount_sampling* sampling) {
  delete sampling;
}

} // extern "C"
