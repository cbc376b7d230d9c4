#include "count/simple/meter.hpp"

#include "base/clock.hpp"

#include <recount/error.hpp>
#include <recount/simple.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace recount::simple {
namespace {

double seconds(clockid_t clock) {
  return 1e-9 * static_cast<double>(base::clock_ns(clock));
}

/// An event name and the indices of its counts: several on a hybrid CPU, one per core type.
struct MeterEvent {
  std::string name;
  std::vector<std::size_t> at;
  Reason reason; // why it is not opened
};

/// The counts of one name as one value.
Value value_of(const MeterEvent& event, const std::vector<Count>& counts) {
  Value out{event.name, {}, 0, event.reason};
  if (!event.reason.empty()) return out;
  std::vector<Count> parts;
  for (const std::size_t i : event.at)
    parts.push_back(counts[i]);
  const Count sum = sum_of_core_types(parts);
  out.reason = why_not_scaled(sum);
  if (!out.reason.empty()) return out;
  out.share = share(sum);
  out.count =
      multiplexed(sum) ? static_cast<std::uint64_t>(std::llround(scale(sum).value_or(0))) : *sum.value;
  return out;
}

} // namespace

struct Meter::State {
  std::vector<MeterEvent> events;
  std::optional<Counters> counters; // empty if no event can be counted
  std::vector<Count> before;
  double real = 0, processor = 0;

  Reading read(bool from_here);
};

Reading Meter::State::read(bool from_here) {
  const std::vector<Count> now = counters ? counters->read() : std::vector<Count>{};
  const double real_now = seconds(CLOCK_MONOTONIC), processor_now = seconds(CLOCK_THREAD_CPUTIME_ID);
  Reading out{real_now - real, processor_now - processor, {}};
  std::vector<Count> passed;
  for (std::size_t i = 0; i < now.size(); ++i)
    passed.push_back(difference(now[i], before[i]));
  for (const auto& one : events)
    out.values.push_back(value_of(one, passed));
  if (from_here) {
    before = now;
    real = real_now;
    processor = processor_now;
  }
  return out;
}

Meter::Meter(std::vector<std::string> events, Domain domain) : state_(std::make_unique<State>()) {
  std::vector<Event> open;
  for (auto& name : events) {
    MeterEvent event{std::move(name), {}, {}};
    (void)encode_each(event.name, domain); // throws for a name that nobody knows
    try {
      const Counters alone(std::vector{event.name}, domain); // throws if no core type can count it
      for (const auto& part : alone.events()) {
        event.at.push_back(open.size());
        open.push_back(part);
      }
    } catch (const Error& e) {
      event.reason = e.problem();
    }
    state_->events.push_back(std::move(event));
  }
  if (!open.empty()) {
    state_->counters.emplace(std::move(open));
    state_->counters->start();
    state_->before = state_->counters->read();
    // Nothing has run before the first interval: the count is 0, not missing.
    for (Count& count : state_->before)
      count.value = count.value.value_or(0);
  }
  state_->real = seconds(CLOCK_MONOTONIC);
  state_->processor = seconds(CLOCK_THREAD_CPUTIME_ID);
}
Meter::Meter(Meter&&) noexcept = default;
Meter& Meter::operator=(Meter&&) noexcept = default;
Meter::~Meter() = default;

Reading Meter::read() {
  return state_->read(false);
}
Reading Meter::read_and_reset() {
  return state_->read(true);
}
void Meter::accumulate(Reading& total) {
  total += state_->read(true);
}

namespace {

std::optional<double> per_second(const Value& value, double seconds) {
  if (!value.count || seconds <= 0) return {};
  return static_cast<double>(*value.count) / seconds;
}

/// Two intervals of one event, with their lengths in seconds.
void add(Value& to, double seconds, const Value& other, double other_seconds) {
  if (to.count && other.count) {
    *to.count += *other.count;
    const double all = seconds + other_seconds;
    if (all > 0) to.share = (to.share * seconds + other.share * other_seconds) / all;
    return;
  }
  if (to.count) to.reason = other.reason;
  to.count.reset();
  to.share = 0;
}

} // namespace

const Value& Reading::operator[](const std::string& event) const {
  const auto it = std::ranges::find(values, event, &Value::event);
  if (it == values.end())
    throw bad_input(event, "is not an event of this meter", "pass it to the constructor of the meter");
  return *it;
}

std::optional<double> Reading::rate(const std::string& event) const {
  return per_second((*this)[event], real_seconds);
}

std::optional<double> Reading::processor_rate(const std::string& event) const {
  return per_second((*this)[event], processor_seconds);
}

Reading& Reading::operator+=(const Reading& other) {
  if (values.empty() && real_seconds == 0) return *this = other;
  if (!std::ranges::equal(values, other.values, {}, &Value::event, &Value::event))
    throw bad_input("reading", "two readings of different events cannot be added",
                    "add readings of one meter");
  for (std::size_t i = 0; i < values.size(); ++i)
    add(values[i], real_seconds, other.values[i], other.real_seconds);
  real_seconds += other.real_seconds;
  processor_seconds += other.processor_seconds;
  return *this;
}

namespace {

constexpr int most = 64; // more than any PMU has

/// How many copies of an event Linux accepts in one group; 0 when not even one, with the reason.
int copies(const char* event, Reason& reason) {
  std::vector<std::string> names;
  while (static_cast<int>(names.size()) < most) {
    names.emplace_back(event);
    try {
      const Group group(names, Domain::user);
    } catch (const Error& e) {
      const bool none = names.size() == 1 || e.problem().code == ReasonCode::no_resources;
      if (none) reason = e.problem();
      return none ? 0 : static_cast<int>(names.size()) - 1;
    }
  }
  return most;
}

} // namespace

CounterCount counters() {
  CounterCount out;
  // Instructions and cycles come last: they may have counters of their own, beside the general ones.
  for (const char* event : {"perf::BRANCH-INSTRUCTIONS", "perf::BRANCH-MISSES", "perf::INSTRUCTIONS"}) {
    Reason reason;
    if (const int n = copies(event, reason); n > 0) return {n, {}};
    if (out.reason.empty()) out.reason = reason.about(event);
  }
  return out;
}

namespace {

constexpr auto instructions = "perf::INSTRUCTIONS", cycles = "perf::CYCLES";

Ipc ipc_of(const Reading& reading) {
  const Value &done = reading[instructions], &took = reading[cycles];
  Ipc out{reading.real_seconds,
          reading.processor_seconds,
          done.count,
          took.count,
          {},
          std::min(done.share, took.share),
          done.count ? took.reason : done.reason};
  if (done.count && took.count) {
    if (*took.count > 0)
      out.ipc = static_cast<double>(*done.count) / static_cast<double>(*took.count);
    else
      out.reason = "no cycles were counted";
  }
  return out;
}

} // namespace

IpcMeter::IpcMeter() : meter_({instructions, cycles}, Domain::user) {}
Ipc IpcMeter::read() {
  return ipc_of(meter_.read());
}
Ipc IpcMeter::read_and_reset() {
  return ipc_of(meter_.read_and_reset());
}

struct FlopsMeter::State {
  const FlopRecipe* recipe = nullptr; // none: this CPU's PMU has no such event, as far as the table knows
  std::optional<Meter> meter;         // always: it has the times

  Flops flops(const Reading& reading) const;
};

namespace {

bool known_here(const FlopRecipe& recipe) {
  try {
    for (const auto& term : recipe.terms)
      (void)encode(term.event, Domain::user);
    return true;
  } catch (const Error&) {
    return false; // not an event of this machine's CPU
  }
}

} // namespace

Flops FlopsMeter::State::flops(const Reading& reading) const {
  Flops out{reading.real_seconds, reading.processor_seconds, {}, {}, {}, 0, {}, {}};
  if (recipe == nullptr) {
    out.reason = "no event for floating-point operations is known for this CPU";
    return out;
  }
  out.events = describe(*recipe);
  std::uint64_t sum = 0;
  double least = 1;
  for (std::size_t i = 0; i < reading.values.size(); ++i) {
    const Value& value = reading.values[i];
    if (!value.count) {
      out.reason = value.reason.about(value.event);
      return out;
    }
    sum += *value.count * recipe->terms[i].weight;
    least = std::min(least, value.share);
  }
  out.operations = sum;
  out.share = least;
  if (out.real_seconds > 0) out.per_second = static_cast<double>(sum) / out.real_seconds;
  if (out.processor_seconds > 0) out.per_processor_second = static_cast<double>(sum) / out.processor_seconds;
  return out;
}

FlopsMeter::FlopsMeter() : state_(std::make_unique<State>()) {
  const auto recipes = flop_recipes();
  std::vector<std::string> events;
  if (const auto it = std::ranges::find_if(recipes, known_here); it != recipes.end()) {
    state_->recipe = &*it;
    for (const auto& term : it->terms)
      events.emplace_back(term.event);
  }
  state_->meter.emplace(std::move(events), Domain::user);
}
FlopsMeter::FlopsMeter(FlopsMeter&&) noexcept = default;
FlopsMeter& FlopsMeter::operator=(FlopsMeter&&) noexcept = default;
FlopsMeter::~FlopsMeter() = default;

Flops FlopsMeter::read() {
  return state_->flops(state_->meter->read());
}
Flops FlopsMeter::read_and_reset() {
  return state_->flops(state_->meter->read_and_reset());
}

std::span<const FlopRecipe> flop_recipes() {
  // FP_ARITH already counts a fused multiply-add twice, as AMD's does.
  static const std::vector<FlopTerm> avx2 = {
      {"FP_ARITH:SCALAR_DOUBLE", 1},      {"FP_ARITH:SCALAR_SINGLE", 1},
      {"FP_ARITH:128B_PACKED_DOUBLE", 2}, {"FP_ARITH:128B_PACKED_SINGLE", 4},
      {"FP_ARITH:256B_PACKED_DOUBLE", 4}, {"FP_ARITH:256B_PACKED_SINGLE", 8}};
  static const std::vector<FlopTerm> avx512 = [] {
    auto terms = avx2;
    terms.push_back({"FP_ARITH:512B_PACKED_DOUBLE", 8});
    terms.push_back({"FP_ARITH:512B_PACKED_SINGLE", 16});
    return terms;
  }();
  static const FlopRecipe recipes[] = {
      {"Intel with AVX-512", "skx", avx512},
      {"Intel since Broadwell", "skl", avx2},
      {"AMD Zen", "amd64_fam19h_zen3", {{"RETIRED_SSE_AVX_FLOPS:ANY", 1}}},
  };
  return recipes;
}

std::string describe(const FlopRecipe& recipe) {
  std::string text;
  for (const auto& [event, weight] : recipe.terms) {
    if (!text.empty()) text += " + ";
    text += weight == 1 ? std::string(event) : fmt::format("{} x {}", weight, event);
  }
  return text;
}

} // namespace recount::simple
