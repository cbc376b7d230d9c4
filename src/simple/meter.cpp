#include <recount/error.hpp>
#include <recount/simple.hpp>

#include <cmath>
#include <ctime>
#include <utility>

namespace recount::simple {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// An event name and the indices of its counts: several on a hybrid CPU, one per core type.
struct MeterEvent {
  std::string name;
  std::vector<std::size_t> at;
  std::string reason; // why it is not opened
};

/// The counts of one name as one value.
Value value_of(const MeterEvent& event, const std::vector<Count>& counts) {
  Value out{event.name, {}, 0, event.reason};
  if (!event.reason.empty()) return out;
  std::vector<Count> parts;
  for (const std::size_t i : event.at)
    parts.push_back(counts[i]);
  const Count sum = sum_of_core_types(parts);
  out.reason = sum.reason;
  if (!sum.value) return out;
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
      event.reason = e.problem().cause;
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

} // namespace recount::simple
