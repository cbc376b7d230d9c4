#include "cost/routes.hpp"

#include "base/names.hpp"
#include "papi/event_set.hpp"
#include "papi/library.hpp"
#include "papi/resolve.hpp"
#include "perf/errno_hints.hpp"
#include "perf/try_open.hpp"
#include "preset/written.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>
#include <recount/user_read.hpp>

#include <papi.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <utility>

namespace recount::cost {
namespace {

std::uint64_t now_ns(void* /*context*/) {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
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
constexpr bool known = true;
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
constexpr bool known = true;
#else
void nop_loop(std::uint64_t) {}
void dependent_loop(std::uint64_t) {}
constexpr bool known = false;
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

} // namespace

Probe clock_probe() noexcept {
  return {now_ns, nullptr};
}

std::optional<double> clock_counts_instructions() {
  if (!known) return {};
  const double a = nanoseconds_each(nop_loop), b = nanoseconds_each(dependent_loop);
  if (a <= 0 || b <= 0 || std::abs(a - b) > 0.002 * std::min(a, b)) return {};
  return a;
}

// PAPI's low-level calls, without this library between.
namespace {

class PapiRoute : public Route {
public:
  PapiRoute(const std::vector<std::string>& names, Domain domain) : names_(names), domain_(domain) {
    PapiSet trial(names, domain); // initialises PAPI, and survives a table that crashes it
    open();
    values_.resize(names.size());
  }

  std::vector<Step> steps() override {
    const auto nothing = [] {};
    const auto start = [this] { PAPI_start(id_); };
    const auto stop = [this] { PAPI_stop(id_, values_.data()); };
    return {repeated(
                op_open, [this] { set_.reset(); },
                [this] {
                  open();
                  set_.reset();
                },
                [this] { open(); }),
            single(op_start, nothing, start, stop),
            single(op_stop, start, stop, nothing),
            repeated(
                op_read, start, [this] { PAPI_read(id_, values_.data()); }, stop),
            repeated(
                op_reset, start, [this] { PAPI_reset(id_); }, stop),
            repeated(
                op_read_reset, start, [this] { PAPI_accum(id_, values_.data()); }, stop),
            repeated(
                op_cycle, nothing,
                [=] {
                  start();
                  stop();
                },
                nothing)};
  }

private:
  void open() {
    set_.emplace(names_, domain_);
    id_ = set_->id();
  }

  std::vector<std::string> names_;
  Domain domain_;
  std::optional<papi::EventSet> set_;
  int id_ = PAPI_NULL;
  std::vector<long long> values_;
};

} // namespace

std::unique_ptr<Route> open_papi(const Subject& subject, Domain domain) {
  return std::make_unique<PapiRoute>(subject.names, domain);
}

// The system calls, without a library.
namespace {

constexpr std::size_t most = 16; // events of a group here

class RawRoute : public Route {
public:
  RawRoute(std::vector<Event> events, bool flag) : flag_(flag ? 1UL : 0UL), events_(std::move(events)) {
    open();
  }

  std::vector<Step> steps() override {
    const auto nothing = [] {};
    const auto start = [this] { ::ioctl(leader_, PERF_EVENT_IOC_ENABLE, flag_); };
    const auto stop = [this] { ::ioctl(leader_, PERF_EVENT_IOC_DISABLE, flag_); };
    const auto read = [this] { words_ = ::read(leader_, now_.data(), sizeof now_); };
    // Reset by keeping the last values: one subtraction per event.
    const auto from_here = [this] {
      for (std::size_t i = 0; i < fds_.size(); ++i) {
        values_[i] = now_[header + i] - base_[i];
        base_[i] = now_[header + i];
      }
    };
    std::vector<Step> all{single(op_start, nothing, start, stop), single(op_stop, start, stop, nothing),
                          repeated(
                              op_cycle, nothing,
                              [=] {
                                start();
                                stop();
                                read();
                                from_here();
                              },
                              nothing)};
    if (flag_ != 0) return all; // the rest is the same without the flag
    all.push_back(repeated(
        op_open, [this] { close(); },
        [this] {
          open();
          close();
        },
        [this] { open(); }));
    all.push_back(repeated(op_read, start, read, stop));
    all.push_back(repeated(
        op_read_reset, start,
        [=] {
          read();
          from_here();
        },
        stop));
    all.push_back(repeated(
        op_reset, start, [this] { ::ioctl(leader_, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP); }, stop));
    return all;
  }

private:
  static constexpr std::size_t header = 3; // number of events, both times

  void open() {
    for (const Event& event : events_) {
      perf_event_attr attr = event.attr;
      attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      // Siblings that are enabled follow their leader; with the flag each is switched by itself.
      attr.disabled = fds_.empty() || flag_ != 0;
      auto attempt = perf::open_sized(attr, {0, -1, fds_.empty() ? -1 : leader_});
      if (!attempt.fd) throw perf::open_error(event, attempt.error);
      if (fds_.empty()) leader_ = attempt.fd.get();
      fds_.push_back(std::move(attempt.fd));
    }
  }
  void close() { fds_.clear(); }

  static_assert(PERF_IOC_FLAG_GROUP == 1);
  unsigned long flag_;
  std::vector<Event> events_;
  std::vector<process::Fd> fds_;
  int leader_ = -1;
  ssize_t words_ = 0;
  std::array<std::uint64_t, header + most> now_{};
  std::array<std::uint64_t, most> base_{}, values_{};
};

std::unique_ptr<Route> open_raw(const std::vector<Event>& events, bool flag) {
  if (events.size() > most) throw bad_input("cost", "more than 16 events per group", "use fewer events");
  return std::make_unique<RawRoute>(events, flag);
}

} // namespace

std::unique_ptr<Route> open_perf(const Subject& subject, Domain /*domain*/) {
  return open_raw(subject.events, false);
}

std::unique_ptr<Route> open_perf_flag(const Subject& subject, Domain /*domain*/) {
  return open_raw(subject.events, true);
}

// This library: class Group.
namespace {

class GroupRoute : public Route {
public:
  explicit GroupRoute(std::vector<Event> events) : events_(std::move(events)), group_(events_) {}

  std::vector<Step> steps() override {
    const auto nothing = [] {};
    const auto start = [this] { group_->start(); };
    const auto stop = [this] { group_->stop(); };
    const auto read = [this] { group_->read(); };
    return {repeated(
                op_open, [this] { group_.reset(); },
                [this] {
                  group_.emplace(events_);
                  group_.reset();
                },
                [this] { group_.emplace(events_); }),
            single(op_start, nothing, start, stop),
            single(op_stop, start, stop, nothing),
            repeated(op_read, start, read, stop),
            repeated(
                op_reset, start, [this] { group_->reset(); }, stop),
            repeated(
                op_read_reset, start, [this] { group_->read_and_reset(); }, stop),
            repeated(
                op_cycle, nothing,
                [this] {
                  group_->reset();
                  group_->start();
                  group_->stop();
                  group_->read();
                },
                nothing)};
  }

private:
  std::vector<Event> events_;
  std::optional<Group> group_;
};

} // namespace

std::unique_ptr<Route> open_recount(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<GroupRoute>(subject.events);
}

// Without a system call: the counter's register and the kernel's page about it.
namespace {

/// Class UserRead.
class UserReadRoute : public Route {
public:
  UserReadRoute(const std::vector<Event>& events, bool times)
      : times_(times), read_(events), values_(events.size()) {
    read_.start();
    static_cast<void>(read_.values(values_));
    if (read_.direct() == 0)
      throw unavailable(events.front().name, "cannot be read in user space here", {}, "recount doctor");
    read_.stop();
  }

  std::vector<Step> steps() override {
    const auto start = [this] { read_.start(); };
    const auto stop = [this] { read_.stop(); };
    if (!times_)
      return {repeated(
          op_read, start, [this] { sink_ = read_.values(values_); }, stop)};
    return {repeated(
        op_read, start,
        [this] {
          for (std::size_t i = 0; i < values_.size(); ++i)
            sink_ = read_.read(i).value.has_value();
        },
        stop)};
  }

private:
  bool times_;
  UserRead read_;
  std::vector<std::uint64_t> values_;
  volatile bool sink_ = false;
};

} // namespace

std::unique_ptr<Route> open_user_reads(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<UserReadRoute>(subject.events, true);
}

std::unique_ptr<Route> open_user_values(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<UserReadRoute>(subject.events, false);
}

// What the interfaces count for the names that were asked for.
namespace {

void add_once(std::vector<Event>& events, const Event& event) {
  const bool there = std::ranges::any_of(
      events, [&](const Event& e) { return std::memcmp(&e.attr, &event.attr, sizeof e.attr) == 0; });
  if (!there) events.push_back(event);
}

} // namespace

Subject subject_of(const std::vector<std::string>& names, Domain domain) {
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
      subject.refused = name + ": " + requested.refused;
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

std::optional<Subject> derived_subject(Derived type, Domain domain) {
  try {
    papi::demand_harmless_tables();
    const preset::MachinePresets here(witness::papi_reading());
    for (const Preset& preset : here.view().loaded.presets) {
      if (preset.type != type || preset.half_read || !preset.undefined.empty()) continue;
      try {
        Subject subject = subject_of({preset.name}, domain);
        if (subject.refused.empty() && subject.events.size() > 1) return subject;
      } catch (const Error&) { // not here
      }
    }
  } catch (const Error&) { // no table, or no CPU that libpfm4 knows
  }
  return {};
}

} // namespace recount::cost
