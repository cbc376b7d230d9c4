// The C interface.
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "count/perf/open_group.hpp"

#include <recount/derived.hpp>
#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/overflow.hpp>
#include <recount/recount.h>
#include <recount/region.hpp>
#include <recount/sampling.hpp>
#include <recount/user_read.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

struct recount_counters {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> event_indices; ///< by name: several on a hybrid CPU
  std::vector<recount::Event> events;
  std::variant<std::monostate, recount::Counters, recount::Group, recount::UserRead> counters;
  std::vector<recount::Count> counts;           ///< by name, as last read
  std::vector<recount::Count> core_type_counts; ///< of one name, while they are added up
  std::vector<recount::Count> user_reads;       ///< by event, of UserRead
};
struct recount_overflow : recount::Overflow {
  using Overflow::Overflow;
};
struct recount_sampling : recount::Sampling {
  using Sampling::Sampling;
};

namespace recount::perf {
namespace {

/// The text of recount_error() of the calling thread.
std::string& c_error() noexcept {
  thread_local std::string text;
  return text;
}

/// 0; -1 with the message of what it throws.
template <class Body>
int guarded(const Body& body) noexcept {
  const process::CancelBlocked uncancelled;
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    try {
      c_error() = error.what();
    } catch (...) { // no memory for the message
      c_error().clear();
    }
    return -1;
  }
}

/// What `make` returns, given away; null with a message if it throws.
template <class Make>
auto make_or_null(const Make& make) noexcept {
  decltype(make()) object;
  static_cast<void>(guarded([&] { object = make(); }));
  return object.release();
}

/// The object that an argument points to.
template <class T>
T& require(T* argument, const char* name) {
  if (argument == nullptr) throw bad_input(name, "NULL", "pass a pointer to an object");
  return *argument;
}

/// The given options; members that an older program lacks are those of RECOUNT_OPTIONS.
recount_options known_options(const recount_options* given) {
  recount_options options = RECOUNT_OPTIONS;
  if (given == nullptr) return options;
  constexpr unsigned known = 1023;
  if (given->size < offsetof(recount_options, flags) || given->size > sizeof options)
    throw bad_input("recount_options", "size is not that of this version: " + std::to_string(given->size),
                    "initialise it with RECOUNT_OPTIONS");
  std::memcpy(&options, given, given->size);
  if ((options.flags & ~known) != 0 || static_cast<unsigned>(options.domain) > RECOUNT_KERNEL)
    throw bad_input("recount_options", "an unknown flag or domain", "initialise it with RECOUNT_OPTIONS");
  return options;
}

Domain domain_of(const recount_options& options) {
  return options.domain == RECOUNT_USER     ? Domain::user
         : options.domain == RECOUNT_KERNEL ? Domain::kernel
                                            : Domain::all;
}

GroupOptions group_options(const recount_options& requested) {
  const auto set = [&](unsigned flag) { return (requested.flags & flag) != 0; };
  GroupOptions options;
  options.pid = requested.pid;
  options.cpu = requested.cpu;
  options.inherit = set(RECOUNT_INHERIT);
  options.pinned = set(RECOUNT_PINNED);
  options.exclusive = set(RECOUNT_EXCLUSIVE);
  options.enable_on_exec = set(RECOUNT_ENABLE_ON_EXEC);
  options.process = set(RECOUNT_PROCESS);
  options.all_cpus = set(RECOUNT_ALL_CPUS);
  return options;
}

void require_counting(const recount_options& requested) {
  if ((requested.flags & (RECOUNT_CHAINS | RECOUNT_FREQUENCY)) != 0)
    throw bad_input("recount_open_with", "RECOUNT_CHAINS and RECOUNT_FREQUENCY are for sampling",
                    "use recount_sampling_open()");
  constexpr unsigned others = ~static_cast<unsigned>(RECOUNT_USER_READ | RECOUNT_GROUP);
  if ((requested.flags & RECOUNT_USER_READ) != 0 &&
      ((requested.flags & others) != 0 || requested.pid != 0 || requested.cpu != -1))
    throw bad_input("recount_open_with", "RECOUNT_USER_READ is for the calling thread alone",
                    "leave out the other flags, pid and cpu");
}

/// Opens each event once: those of one name that cannot be counted are left out only where a name has
/// several.
std::unique_ptr<recount_counters> open_all(const char* const* names, std::size_t number,
                                           const recount_options& requested) {
  require_counting(requested);
  auto opened = std::make_unique<recount_counters>();
  if (number > 0) require(names, "names");
  const GroupOptions options = group_options(requested);
  for (std::size_t i = 0; i < number; ++i) {
    auto& indices = opened->event_indices.emplace_back();
    const std::string name = &require(names[i], "name of an event");
    for (Event& event : countable(encode_each(name, domain_of(requested)), options).events) {
      indices.push_back(opened->events.size());
      opened->events.push_back(std::move(event));
    }
    opened->names.push_back(name);
  }
  if ((requested.flags & RECOUNT_USER_READ) != 0)
    opened->counters.emplace<UserRead>(opened->events);
  else if ((requested.flags & RECOUNT_GROUP) != 0)
    opened->counters.emplace<Group>(opened->events, options);
  else
    opened->counters.emplace<Counters>(opened->events, options);
  opened->counts.resize(number, {{}, 0, 0, "not read yet"});
  opened->core_type_counts.reserve(opened->events.size());
  opened->user_reads.resize(opened->events.size());
  return opened;
}

/// Calls `body` with the open Counters, Group or UserRead.
template <class Body>
void visit_counters(recount_counters* counters, const Body& body) {
  std::visit(
      [&]<class Kind>(Kind& kind) {
        if constexpr (!std::is_same_v<Kind, std::monostate>) body(kind);
      },
      require(counters, "counters").counters);
}

/// Sets the count of each name from those of all events.
void store_counts(recount_counters& counters, const std::vector<Count>& event_counts) {
  for (std::size_t i = 0; i < counters.names.size(); ++i) {
    const auto& indices = counters.event_indices[i];
    if (indices.size() == 1) {
      counters.counts[i] = event_counts[indices.front()];
      continue;
    }
    counters.core_type_counts.clear();
    for (const std::size_t event : indices)
      counters.core_type_counts.push_back(event_counts[event]);
    counters.counts[i] = sum_of_core_types(counters.core_type_counts);
  }
}

void read_all(recount_counters* counters) {
  visit_counters(counters, [&]<class Kind>(Kind& kind) {
    if constexpr (std::is_same_v<Kind, UserRead>) {
      for (std::size_t i = 0; i < counters->user_reads.size(); ++i)
        counters->user_reads[i] = kind.read(i);
      store_counts(*counters, counters->user_reads);
    } else {
      store_counts(*counters, kind.read());
    }
  });
}

[[noreturn]] void throw_uncounted(const recount_counters& counters, std::size_t event) {
  throw Error(ErrorKind::unavailable, {counters.names[event], why_not_scaled(counters.counts[event])});
}

const Count& require_count(const recount_counters* counters, std::size_t event) {
  require_index("event", event, require(counters, "counters").counts.size());
  return counters->counts[event];
}

void read_values(recount_counters* counters, std::uint64_t* values, std::size_t number) {
  if (number > require(counters, "counters").names.size())
    throw bad_input("recount_read_values", "more values than events", "use at most recount_number()");
  if (number > 0) require(values, "values");
  auto* const direct = std::get_if<UserRead>(&counters->counters);
  if (direct != nullptr && counters->events.size() == counters->names.size() &&
      direct->values(std::span(values, number)))
    return;
  read_all(counters);
  for (std::size_t i = 0; i < number; ++i) {
    const Count& count = counters->counts[i];
    if (!count.value) throw_uncounted(*counters, i);
    if (multiplexed(count))
      throw unavailable(counters->names[i], "multiplexed: its count covers a part of the time", {},
                        "recount_read() and recount_value() estimate the whole");
    values[i] = *count.value;
  }
}

/// As snprintf(3).
template <class Write>
std::size_t write_text(const recount_counters* counters, char* text, std::size_t size, const Write& write) {
  std::string all;
  if (guarded([&] {
        require(counters, "counters");
        if (size > 0) require(text, "text");
        all = write(counters->names, counters->counts);
      }) != 0)
    return 0;
  if (size > 0) {
    const std::size_t written = std::min(all.size(), size - 1);
    all.copy(text, written);
    text[written] = '\0';
  }
  return all.size();
}

// Regions, overflow and sampling.

static_assert(sizeof(Region) <= sizeof(recount_region));
static_assert(alignof(Region) <=
              alignof(recount_region)); // NOLINT(misc-redundant-expression): equal on some machines

Event encoded(const char* const* names, std::size_t i, const recount_options& options) {
  return encode(&require(names[i], "name of an event"), domain_of(options));
}

void require_flags(const recount_options& options, unsigned allowed, const char* function) {
  if ((options.flags & ~allowed) != 0)
    throw bad_input(function, "unknown flag: " + std::to_string(options.flags & ~allowed),
                    "recount.h lists the flags of each function");
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
  OverflowOptions overflow_options;
  overflow_options.delivery = given == nullptr ? Delivery::signal : Delivery::thread;
  overflow_options.pid = options.pid;
  overflow_options.inherit = (options.flags & RECOUNT_INHERIT) != 0;
  return std::make_unique<recount_overflow>(std::move(events), c_callback(callback, argument),
                                            overflow_options);
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
  SamplingOptions sampling_options;
  sampling_options.pid = options.pid;
  sampling_options.inherit = (options.flags & RECOUNT_INHERIT) != 0;
  sampling_options.enable_on_exec = (options.flags & RECOUNT_ENABLE_ON_EXEC) != 0;
  sampling_options.chains = (options.flags & RECOUNT_CHAINS) != 0;
  return std::make_unique<recount_sampling>(std::move(events), sampling_options);
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

using namespace recount;
using namespace recount::perf;

extern "C" {

recount_counters* recount_open_with(const char* const* names, size_t number, const recount_options* options) {
  return make_or_null([&] { return open_all(names, number, known_options(options)); });
}
recount_counters* recount_open(const char* const* names, size_t number) {
  return recount_open_with(names, number, nullptr);
}
recount_counters* recount_open_inherited(const char* const* names, size_t number) {
  recount_options options = RECOUNT_OPTIONS;
  options.flags = RECOUNT_INHERIT;
  return recount_open_with(names, number, &options);
}
void recount_close(recount_counters* counters) {
  delete counters;
}

int recount_start(recount_counters* counters) {
  return guarded([&] { visit_counters(counters, [](auto& kind) { kind.start(); }); });
}
int recount_stop(recount_counters* counters) {
  return guarded([&] { visit_counters(counters, [](auto& kind) { kind.stop(); }); });
}
int recount_reset(recount_counters* counters) {
  return guarded([&] { visit_counters(counters, [](auto& kind) { kind.reset(); }); });
}
int recount_read(recount_counters* counters) {
  return guarded([&] { read_all(counters); });
}
int recount_read_and_reset(recount_counters* counters) {
  return guarded([&] {
    visit_counters(counters, [&]<class Kind>(Kind& kind) {
      if constexpr (std::is_same_v<Kind, UserRead>)
        throw bad_input("recount_read_and_reset", "not with RECOUNT_USER_READ", "use recount_read_values()");
      else
        store_counts(*counters, kind.read_and_reset());
    });
  });
}
int recount_read_values(recount_counters* counters, uint64_t* values, size_t number) {
  return guarded([&] { read_values(counters, values, number); });
}

size_t recount_number(const recount_counters* counters) {
  return counters == nullptr ? 0 : counters->names.size();
}
const char* recount_name(const recount_counters* counters, size_t event) {
  return event < recount_number(counters) ? counters->names[event].c_str() : nullptr;
}
int recount_value(const recount_counters* counters, size_t event, double* value) {
  return guarded([&] {
    const auto scaled = scale(require_count(counters, event));
    if (!scaled) throw_uncounted(*counters, event);
    require(value, "value") = *scaled;
  });
}
int recount_count(const recount_counters* counters, size_t event, uint64_t* value) {
  return guarded([&] {
    const Count& count = require_count(counters, event);
    if (!count.value) throw_uncounted(*counters, event);
    require(value, "value") = *count.value;
  });
}
double recount_share(const recount_counters* counters, size_t event) {
  const bool known = event < recount_number(counters) && counters->counts[event].value;
  return known ? share(counters->counts[event]) : 0;
}
int recount_metric(const recount_counters* counters, const char* formula, double* value) {
  return guarded([&] {
    require(counters, "counters");
    const auto derived = derive(&require(formula, "formula"), counters->names, counters->counts);
    if (!derived.value) throw Error(ErrorKind::unavailable, {formula, derived.reason});
    require(value, "value") = *derived.value;
  });
}
size_t recount_json(const recount_counters* counters, char* text, size_t size) {
  return write_text(counters, text, size, to_json);
}
size_t recount_csv(const recount_counters* counters, char* text, size_t size) {
  return write_text(counters, text, size, to_csv);
}

int recount_version(void) {
  return RECOUNT_VERSION_NUMBER;
}

const char* recount_error(void) {
  return c_error().c_str();
}

int recount_region_events(const char* const* names, size_t number) {
  return guarded([&] {
    std::vector<std::string> all;
    if (number > 0) require(names, "names");
    for (std::size_t i = 0; i < number; ++i)
      all.emplace_back(&require(names[i], "name of an event"));
    region_events(std::move(all));
  });
}
void recount_region_begin(recount_region* region, const char* name) {
  if (region != nullptr) ::new (static_cast<void*>(region)) Region(name == nullptr ? "" : name);
}
void recount_region_end(recount_region* region) {
  if (region != nullptr) std::launder(reinterpret_cast<Region*>(region))->~Region();
}
int recount_region_total(const char* name, size_t event, uint64_t* calls, uint64_t* count) {
  return guarded([&] {
    const std::string wanted = &require(name, "name");
    const auto totals = region_totals();
    const auto found = std::ranges::find(totals, wanted, &RegionTotal::name);
    if (found == totals.end()) throw bad_input(wanted, "no region of that name has begun");
    fill(calls, found->calls);
    if (count == nullptr) return;
    require_index("event of a region", event, found->events.size());
    const auto& total = found->events[event];
    if (!total.count) throw Error(ErrorKind::unavailable, {total.name, total.reason});
    *count = *total.count;
  });
}

recount_overflow* recount_overflow_open(const char* const* names, const uint64_t* thresholds, size_t number,
                                        recount_overflow_callback callback, void* argument,
                                        const recount_options* options) {
  return make_or_null([&] { return open_overflow(names, thresholds, number, callback, argument, options); });
}
int recount_overflow_start(recount_overflow* overflow) {
  return guarded([&] { require(overflow, "overflow").start(); });
}
int recount_overflow_stop(recount_overflow* overflow) {
  return guarded([&] { require(overflow, "overflow").stop(); });
}
int recount_overflow_set_threshold(recount_overflow* overflow, size_t event, uint64_t threshold) {
  return guarded([&] { require(overflow, "overflow").set_threshold(event, threshold); });
}
int recount_overflow_counts(recount_overflow* overflow, size_t event, uint64_t* occurrences,
                            uint64_t* overflows) {
  return guarded([&] {
    const auto counts = require(overflow, "overflow").counts();
    require_index("event of an overflow", event, counts.size());
    fill(occurrences, counts[event].occurrences);
    fill(overflows, counts[event].overflows);
  });
}
void recount_overflow_close(recount_overflow* overflow) {
  delete overflow;
}

recount_sampling* recount_sampling_open(const char* const* names, const uint64_t* periods, size_t number,
                                        const recount_options* options) {
  return make_or_null([&] { return open_sampling_c(names, periods, number, options); });
}
int recount_sampling_start(recount_sampling* sampling) {
  return guarded([&] { require(sampling, "sampling").start(); });
}
int recount_sampling_stop(recount_sampling* sampling) {
  return guarded([&] { require(sampling, "sampling").stop(); });
}
int recount_sampling_wait(recount_sampling* sampling, unsigned milliseconds) {
  int more = 0;
  const int result = guarded(
      [&] { more = require(sampling, "sampling").wait(std::chrono::milliseconds(milliseconds)) ? 1 : 0; });
  return result == 0 ? more : result;
}
int recount_sampling_read(recount_sampling* sampling, recount_sink sink, void* argument, int last) {
  return guarded([&] {
    require(sink, "sink");
    const auto each = c_sink(sink, argument);
    auto& open = require(sampling, "sampling");
    last != 0 ? open.finish(each) : open.read(each);
  });
}
int recount_sampling_counts(recount_sampling* sampling, size_t event, uint64_t* occurrences, uint64_t* lost) {
  return guarded([&] {
    const auto report = require(sampling, "sampling").report();
    require_index("event of a sampling", event, report.events.size());
    fill(occurrences, report.events[event].occurrences);
    fill(lost, report.events[event].lost.value_or(report.lost_records));
  });
}
void recount_sampling_close(recount_sampling* sampling) {
  delete sampling;
}

} // extern "C"
