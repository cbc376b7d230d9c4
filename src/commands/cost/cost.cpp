#include "commands/cost/cost.hpp"

#include "base/clock.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "count/papi/event_set.hpp"
#include "count/perf/errno_hints.hpp"
#include "count/perf/try_open.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>
#include <recount/recount.h>
#include <recount/user_read.hpp>

#include <papi.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::cost {
namespace {

/// Something that grows while code runs: nanoseconds, or instructions.
struct Probe {
  std::uint64_t (*read)(void* context);
  void* context;
  std::uint64_t operator()() const { return read(context); }
};

/// An operation that can be measured: what one of `batch` executions adds to the probe, the probe's own cost
/// included.
struct Step {
  std::string operation;
  std::function<double(const Probe& probe, int batch)> measure;
};

/// The compiler may neither leave the operation out nor mix it with the next.
inline void keep_order() {
  asm volatile("" ::: "memory");
}

/// Executes a different number of instructions each time, so that the steps of a coarse clock average out.
inline void dither(int i) {
  for (int k = i % 16; k > 0; --k)
    asm volatile("");
}

/// An operation that can be repeated as it stands, between two readings. `begin` and `end` are not measured.
template <class Begin, class Operation, class End>
Step repeated(std::string name, Begin begin, Operation operation, End end) {
  return {std::move(name), [=](const Probe& probe, int batch) {
            begin();
            const std::uint64_t from = probe();
            for (int i = 0; i < batch; ++i) {
              operation();
              keep_order();
            }
            const std::uint64_t to = probe();
            end();
            return static_cast<double>(to - from) / batch;
          }};
}

/// An operation that has to be undone before it can be repeated: two readings around each.
template <class Before, class Operation, class After>
Step single(std::string name, Before before, Operation operation, After after) {
  return {std::move(name), [=](const Probe& probe, int batch) {
            std::uint64_t sum = 0;
            for (int i = 0; i < batch; ++i) {
              before();
              dither(i);
              const std::uint64_t from = probe();
              operation();
              sum += probe() - from;
              after();
            }
            return static_cast<double>(sum) / batch;
          }};
}

/// What a route counts: PAPI by the names, the others by the events, which for a preset are its terms.
struct Subject {
  std::vector<std::string> names;
  std::vector<Event> events; ///< terms of presets each once
  std::vector<DerivedPreset> presets;
  Reason refused; ///< why `events` cannot be counted though PAPI counts the names; else empty
};

/// An interface, with the steps of its open events, stopped between them. Throws Error where it cannot count
/// these events.
struct RouteEntry {
  const char* name;
  std::vector<Step> (*open)(const Subject& subject, Domain domain);
};

std::uint64_t now_ns(void* /*context*/) {
  return static_cast<std::uint64_t>(base::clock_ns(CLOCK_MONOTONIC_RAW));
}

// Two loops of 256 instructions per round: of nop, and of dependent divisions or multiplications.
constexpr double instructions_per_round = 256;
#if defined(__aarch64__)
void nop_loop(std::uint64_t rounds) {
  asm volatile("1:\n\t.rept 254\n\tnop\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}
void dependent_loop(std::uint64_t rounds) {
  std::uint64_t value = ~std::uint64_t{0};
  asm volatile("1:\n\t.rept 254\n\tudiv %1, %1, %2\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b"
               : "+r"(rounds), "+r"(value)
               : "r"(std::uint64_t{1})
               : "cc");
}
constexpr bool known_clock = true;
#elif defined(__x86_64__)
void nop_loop(std::uint64_t rounds) {
  asm volatile("1:\n\t.rept 254\n\tnop\n\t.endr\n\tdec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}
void dependent_loop(std::uint64_t rounds) {
  std::uint64_t value = ~std::uint64_t{0};
  asm volatile("1:\n\t.rept 254\n\timul %1, %1\n\t.endr\n\tdec %0\n\tjnz 1b"
               : "+r"(rounds), "+r"(value)
               :
               : "cc");
}
constexpr bool known_clock = true;
#else
void nop_loop(std::uint64_t) {}
void dependent_loop(std::uint64_t) {}
constexpr bool known_clock = false;
#endif

/// Nanoseconds per instruction: the minimum over rounds, since interrupts only add time.
double nanoseconds_each(void (*loop)(std::uint64_t)) {
  constexpr std::uint64_t rounds = 400;
  auto once = std::numeric_limits<std::uint64_t>::max(), twice = once;
  loop(1);
  for (int i = 0; i < 7; ++i) {
    const std::uint64_t before = now_ns(nullptr);
    loop(rounds);
    const std::uint64_t between = now_ns(nullptr);
    loop(2 * rounds);
    const std::uint64_t after = now_ns(nullptr);
    once = std::min(once, between - before);
    twice = std::min(twice, after - between);
  }
  // The difference excludes the cost of reading the clock.
  return (static_cast<double>(twice) - static_cast<double>(once)) /
         (static_cast<double>(rounds) * instructions_per_round);
}

/// Nanoseconds per instruction, where different kinds of code take the same time per instruction: an
/// emulator then advances the clock by the instructions executed. None on real machines, and where this
/// architecture is not known.
std::optional<double> clock_counts_instructions() {
  if (!known_clock) return {};
  const double a = nanoseconds_each(nop_loop), b = nanoseconds_each(dependent_loop);
  if (a <= 0 || b <= 0 || std::abs(a - b) > 0.002 * std::min(a, b)) return {};
  return a;
}

/// PAPI's low-level calls, without this library between.
class PapiCalls {
public:
  PapiCalls(const Subject& subject, Domain domain) : names_(subject.names), domain_(domain) {
    PapiSet trial(names_, domain); // initialises PAPI, and survives a table that crashes it
    open();
    values_.resize(names_.size());
  }
  void open() {
    set_.emplace(names_, domain_);
    id_ = set_->id();
  }
  void close() { set_.reset(); }
  void start() { PAPI_start(id_); }
  void stop() { PAPI_stop(id_, values_.data()); }
  void read() { PAPI_read(id_, values_.data()); }
  void reset() { PAPI_reset(id_); }
  void read_and_reset() { PAPI_accum(id_, values_.data()); }
  void cycle() {
    start();
    stop();
  }

private:
  std::vector<std::string> names_;
  Domain domain_;
  std::optional<papi::EventSet> set_;
  int id_ = PAPI_NULL;
  std::vector<long long> values_;
};

/// The system calls, without a library.
class PerfCalls {
public:
  PerfCalls(const Subject& subject, Domain /*domain*/) : events_(subject.events) {
    if (events_.size() > most) throw bad_input("cost", "more than 16 events per group", "use fewer events");
    open();
  }
  void open() {
    for (const Event& event : events_) {
      perf_event_attr attr = event.attr;
      attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      attr.disabled = fds_.empty(); // siblings that are enabled follow their leader
      auto attempt = perf::open_sized(attr, {0, -1, fds_.empty() ? -1 : leader_});
      if (!attempt.fd) throw perf::open_error(event, attempt.error);
      if (fds_.empty()) leader_ = attempt.fd.get();
      fds_.push_back(std::move(attempt.fd));
    }
  }
  void close() { fds_.clear(); }
  void start() { ::ioctl(leader_, PERF_EVENT_IOC_ENABLE, 0); }
  void stop() { ::ioctl(leader_, PERF_EVENT_IOC_DISABLE, 0); }
  void read() { words_ = ::read(leader_, now_.data(), sizeof now_); }
  void reset() { ::ioctl(leader_, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP); }
  /// Resets by keeping the last values: one subtraction per event.
  void read_and_reset() {
    read();
    for (std::size_t i = 0; i < fds_.size(); ++i) {
      values_[i] = now_[header + i] - base_[i];
      base_[i] = now_[header + i];
    }
  }
  void cycle() {
    start();
    stop();
    read_and_reset();
  }

private:
  static constexpr std::size_t header = 3, most = 16; // words before the values; events
  std::vector<Event> events_;
  std::vector<process::Fd> fds_;
  int leader_ = -1;
  ssize_t words_ = 0;
  std::array<std::uint64_t, header + most> now_{};
  std::array<std::uint64_t, most> base_{}, values_{};
};

/// Class Group of this library.
class GroupCalls {
public:
  GroupCalls(const Subject& subject, Domain /*domain*/) : events_(subject.events), group_(events_) {}
  void open() { group_.emplace(events_); }
  void close() { group_.reset(); }
  void start() { group_->start(); }
  void stop() { group_->stop(); }
  void read() { group_->read(); }
  void reset() { group_->reset(); }
  void read_and_reset() { group_->read_and_reset(); }
  void cycle() {
    reset();
    start();
    stop();
    read();
  }

private:
  std::vector<Event> events_;
  std::optional<Group> group_;
};

/// The C interface of this library, as class Group.
class CCalls {
public:
  CCalls(const Subject& subject, Domain domain) {
    std::vector<const char*> names;
    for (const Event& event : subject.events)
      names.push_back(event.name.c_str());
    recount_options options = RECOUNT_OPTIONS;
    options.domain = domain == Domain::user     ? RECOUNT_USER
                     : domain == Domain::kernel ? RECOUNT_KERNEL
                                                : RECOUNT_ALL;
    options.flags = RECOUNT_GROUP;
    counters_.reset(recount_open_with(names.data(), names.size(), &options));
    if (!counters_) throw unavailable("recount_open_with", recount_error());
  }
  void start() { recount_start(counters_.get()); }
  void stop() { recount_stop(counters_.get()); }
  void read() { recount_read(counters_.get()); }

private:
  struct Close {
    void operator()(recount_counters* counters) const { recount_close(counters); }
  };
  std::unique_ptr<recount_counters, Close> counters_;
};

/// Class UserRead of this library: the counter's register and the kernel's page about it, without a system
/// call.
class UserReadCalls {
public:
  UserReadCalls(const Subject& subject, Domain /*domain*/)
      : events_(subject.events.size()), read_(subject.events) {
    start();
    read();
    if (read_.direct() == 0)
      throw unavailable(subject.events.front().name, "cannot be read in user space here", {},
                        "recount doctor");
    stop();
  }
  void start() { read_.start(); }
  void stop() { read_.stop(); }
  void read() {
    for (std::size_t i = 0; i < events_; ++i)
      sink_ = read_.read(i).value.has_value();
  }

private:
  std::size_t events_;
  UserRead read_;
  volatile bool sink_ = false;
};

template <class Calls>
std::vector<Step> open(const Subject& subject, Domain domain) {
  if (!subject.refused.empty() && !std::same_as<Calls, PapiCalls>)
    throw Error(ErrorKind::unavailable, {"the events", subject.refused});
  const auto calls = std::make_shared<Calls>(subject, domain);
  const auto nothing = [] {};
  const auto start = [calls] { calls->start(); };
  const auto stop = [calls] { calls->stop(); };
  std::vector<Step> all{repeated(
      op_read, start, [calls] { calls->read(); }, stop)};
  if constexpr (requires { calls->cycle(); }) {
    const auto open = [calls] { calls->open(); };
    const auto close = [calls] { calls->close(); };
    const auto open_and_close = [calls] {
      calls->open();
      calls->close();
    };
    all.push_back(repeated(op_open, close, open_and_close, open));
    all.push_back(single(op_start, nothing, start, stop));
    all.push_back(single(op_stop, start, stop, nothing));
    all.push_back(repeated(
        op_reset, start, [calls] { calls->reset(); }, stop));
    all.push_back(repeated(
        op_read_reset, start, [calls] { calls->read_and_reset(); }, stop));
    all.push_back(repeated(
        op_cycle, nothing, [calls] { calls->cycle(); }, nothing));
  }
  return all;
}

std::span<const RouteEntry> routes() {
  static constexpr RouteEntry all[] = {{route_perf, open<PerfCalls>},
                                       {route_recount, open<GroupCalls>},
                                       {route_c, open<CCalls>},
                                       {route_papi, open<PapiCalls>},
                                       {route_user, open<UserReadCalls>}};
  return all;
}

void add_once(std::vector<Event>& events, const Event& event) {
  const bool known = std::ranges::any_of(
      events, [&](const Event& e) { return std::memcmp(&e.attr, &event.attr, sizeof e.attr) == 0; });
  if (!known) events.push_back(event);
}

/// Throws Error for a name that nobody knows, with the nearest ones, and for a preset that PAPI cannot count.
Subject make_subject(const std::vector<std::string>& names, Domain domain) {
  Subject subject{names, {}, {}, {}};
  for (const auto& name : names) {
    const bool standard = is_preset(name);
    if (standard) const PapiSet trial({name}, domain); // names the nearest where there is none
    const witness::MetricEvents requested = witness::resolve_metric(name, domain);
    if (!standard && !requested.preset) {
      subject.events.push_back(encode(name, domain));
      continue;
    }
    if (!requested.refused.empty() && subject.refused.empty())
      subject.refused = requested.refused.about(name);
    DerivedPreset& preset = subject.presets.emplace_back();
    preset.name = name;
    if (requested.preset) preset.type = name_of(requested.preset->papi_definition.type);
    for (const Event& event : requested.events) {
      preset.terms.push_back(event.name);
      add_once(subject.events, event);
    }
  }
  return subject;
}

/// In the order in which they are worth counting; those of the core PMU first.
constexpr std::array candidates{"perf::INSTRUCTIONS", "perf::CYCLES",        "perf::BRANCH-MISSES",
                                "perf::CACHE-MISSES", "perf::PAGE-FAULTS",   "perf::CONTEXT-SWITCHES",
                                "perf::MINOR-FAULTS", "perf::CPU-MIGRATIONS"};

/// User-mode instructions of this thread, by a counter of its own. Absent where there is none.
class InstructionCounter {
public:
  InstructionCounter() {
    try {
      read_.emplace(encode("perf::INSTRUCTIONS", Domain::user));
      read_->start();
    } catch (const Error& e) {
      reason_ = e.problem();
    }
  }
  [[nodiscard]] const Reason& reason() const { return reason_; }
  [[nodiscard]] Probe probe() {
    return {[](void* self) { return static_cast<UserRead*>(self)->value().value_or(0); }, &*read_};
  }
  /// Whether it was scheduled all the time; a multiplexed counter has gaps.
  [[nodiscard]] bool always_scheduled() { return !multiplexed(read_->read()); }

private:
  std::optional<UserRead> read_;
  Reason reason_;
};

struct Key {
  std::string operation, route;
  std::size_t events;
  auto operator<=>(const Key&) const = default;
};
/// Values of all batches for each cell of the table.
using Samples = std::map<Key, std::vector<double>>;

/// Cost of an empty operation in both ways of measuring.
struct EmptyOperation {
  double repeated, single;
  EmptyOperation(const Probe& probe, int batch) {
    const auto none = [] {};
    const Step r = cost::repeated("", none, none, none), s = cost::single("", none, none, none);
    std::vector<double> a, b;
    for (int i = 0; i < 9; ++i) {
      a.push_back(r.measure(probe, batch));
      b.push_back(s.measure(probe, batch));
    }
    repeated = statistics::median(a);
    single = statistics::median(b);
  }
};

/// One visit to a route: each of its operations, batch after batch.
void visit(const std::vector<Step>& steps, const char* name, std::size_t events, const CostOptions& options,
           const Probe& probe, Samples& samples) {
  const EmptyOperation empty(probe, options.batch);
  for (const Step& step : steps) {
    const bool single = step.operation == op_start || step.operation == op_stop;
    auto& values = samples[{step.operation, name, events}];
    (void)step.measure(probe, options.batch); // binds symbols, touches pages, fills caches
    // Opening is slow and not done in loops.
    const int batch = step.operation == op_open ? std::max(1, options.batch / 16) : options.batch;
    for (int i = 0; i < options.batches; ++i)
      values.push_back(step.measure(probe, batch) - (single ? empty.single : empty.repeated));
  }
}

/// Every route in turn, visit after visit. Missing interfaces are recorded on the first visit.
void visit_all(const CostOptions& options, const std::vector<Subject>& subjects, const Probe& probe,
               const std::function<bool()>& valid, Samples& samples, std::vector<MissingRoute>* missing) {
  for (const Subject& subject : subjects)
    for (int round = 0; round < options.visits; ++round)
      for (const RouteEntry& entry : routes()) {
        try {
          Samples of_visit;
          visit(entry.open(subject, options.domain), entry.name, subject.names.size(), options, probe,
                of_visit);
          if (!valid()) continue;
          for (auto& [key, values] : of_visit)
            samples[key].insert(samples[key].end(), values.begin(), values.end());
        } catch (const Error& e) {
          if (missing != nullptr && round == 0)
            missing->push_back({entry.name, subject.names.size(), e.problem()});
        }
      }
}

std::vector<std::string> chosen(const CostOptions& options) {
  auto events = options.events.empty() ? cost_events(options.domain) : options.events;
  for (const std::size_t size : options.sizes) {
    if (size == 0 || size > events.size())
      throw bad_input("cost", "fewer events than requested per group: " + std::to_string(size),
                      "name more events with -e, or use smaller numbers with --at-once");
  }
  return events;
}

/// In the order of the routes within an operation.
std::vector<Cost> table(const Samples& times, const Samples& user, std::optional<double> ns_per_instruction) {
  std::vector<Cost> rows;
  for (const char* operation : {op_open, op_start, op_read, op_stop, op_reset, op_read_reset, op_cycle})
    for (const RouteEntry& route : routes())
      for (const auto& [key, values] : times) {
        if (key.operation != operation || key.route != route.name || values.empty()) continue;
        const auto all = statistics::summarise(values);
        Cost cost{operation,
                  route.name,
                  key.events,
                  all.median,
                  all.p10,
                  statistics::quantile(values, 0.25),
                  statistics::quantile(values, 0.75),
                  all.p90,
                  {},
                  {}};
        if (ns_per_instruction) cost.instructions = all.median / *ns_per_instruction;
        if (const auto it = user.find(key); it != user.end() && !it->second.empty())
          cost.user_instructions = statistics::median(it->second);
        rows.push_back(std::move(cost));
      }
  return rows;
}

} // namespace

std::vector<std::string> cost_events(Domain domain) {
  std::vector<std::string> events;
  for (const char* name : candidates) {
    auto with = events;
    with.emplace_back(name);
    try {
      const Group trial(with, domain);
      events = std::move(with);
    } catch (const Error&) { // not here, or not together with the others
    }
    if (events.size() == 4) break;
  }
  return events;
}

Costs measure_costs(const CostOptions& options) {
  Costs costs;
  costs.events = chosen(options);
  const Subject all = make_subject(costs.events, options.domain);
  costs.presets = all.presets;
  if (all.presets.empty()) const Group trial(all.events); // throws for events that cannot be counted
  std::vector<Subject> subjects;
  for (const std::size_t size : options.sizes)
    subjects.push_back(make_subject(
        {costs.events.begin(), costs.events.begin() + static_cast<std::ptrdiff_t>(size)}, options.domain));
  Samples times, user;
  costs.ns_per_instruction = clock_counts_instructions();
  if (!costs.ns_per_instruction)
    costs.no_instructions = "the clock of this machine does not count instructions, unlike that of an "
                            "emulator that counts them (qemu -icount)";
  visit_all(
      options, subjects, Probe{now_ns, nullptr}, [] { return true; }, times, &costs.missing);

  InstructionCounter counter;
  costs.no_user_instructions = counter.reason();
  if (counter.reason().empty()) {
    CostOptions fewer = options;
    fewer.visits = 1; // instructions do not vary as times do
    visit_all(
        fewer, subjects, counter.probe(), [&] { return counter.always_scheduled(); }, user, nullptr);
    if (user.empty()) costs.no_user_instructions = "the events leave no counter free to count instructions";
  }
  costs.rows = table(times, user, costs.ns_per_instruction);
  return costs;
}

} // namespace recount::cost
