#include <recount/overflow.hpp>

#include "perf/overflow_calls.hpp"
#include "perf/overflow_engine.hpp"
#include "perf/owner.hpp"
#include "perf/try_open.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount {

class Overflow::State {
public:
  explicit State(perf::OverflowPlan plan)
      : events(plan.events.size()),
        emulated(plan.emulated),
        engine(plan.options.delivery == Delivery::signal ? perf::deliver_by_signal(std::move(plan))
                                                         : perf::deliver_by_thread(std::move(plan))) {}
  /// Throws in a forked child.
  perf::OverflowEngine& here() const {
    owner.demand("overflow");
    return *engine;
  }
  perf::Owner owner;
  std::size_t events;
  std::vector<std::size_t> emulated;
  std::unique_ptr<perf::OverflowEngine> engine;
};

namespace {

void demand_possible(const std::vector<OverflowEvent>& events, const OverflowOptions& options) {
  if (events.empty()) throw bad_input("overflow", "needs at least one event", "add an event");
  if (events.size() > perf::most_overflow_events)
    throw bad_input("overflow", "has more than 64 events", "use several objects");
  if (options.delivery == Delivery::signal && (options.pid != 0 || options.inherit))
    throw bad_input("overflow", "signals are delivered only to a thread that counts itself",
                    "use Delivery::thread for other processes");
  if (options.interval.count() <= 0) throw bad_input("overflow", "the timer interval must be greater than 0");
}

void demand_threshold(const Event& event, std::uint64_t threshold) {
  if (threshold == 0) throw bad_input(event.name, "an overflow threshold of 0", "use 1 for every occurrence");
}

perf::OverflowPlan plan(std::vector<OverflowEvent> events, OverflowCallback callback,
                        const OverflowOptions& options) {
  demand_possible(events, options);
  if (!callback) throw bad_input("overflow", "needs a callback");
  perf::OverflowPlan plan{std::move(events), {}, {}, std::move(callback), options};
  for (std::size_t i = 0; i < plan.events.size(); ++i) {
    demand_threshold(plan.events[i].event, plan.events[i].threshold);
    (options.emulate || !can_interrupt(plan.events[i].event) ? plan.emulated : plan.interrupting)
        .push_back(i);
  }
  return plan;
}

} // namespace

SampledEvent perf::overflow_timer(const OverflowPlan& plan) {
  const auto period = std::chrono::nanoseconds(plan.options.interval).count();
  SampledEvent timer{encode("perf::CPU-CLOCK", Domain::all), static_cast<std::uint64_t>(period), 0, 0};
  perf_event_attr attr = timer.event.attr;
  attr.sample_period = timer.period;
  attr.disabled = 1;
  if (!open_sized(attr, {}).fd) timer.event = encode("perf::CPU-CLOCK", Domain::user);
  return timer;
}

Overflow::Overflow(std::vector<OverflowEvent> events, OverflowCallback callback,
                   const OverflowOptions& options)
    : state_(std::make_unique<State>(plan(std::move(events), std::move(callback), options))) {}
Overflow::~Overflow() = default;

void Overflow::start() {
  state_->here().start();
}
void Overflow::stop() {
  if (state_->owner.here()) state_->engine->stop();
}
void Overflow::set_threshold(std::size_t event, std::uint64_t threshold) {
  if (threshold == 0) throw bad_input("overflow", "a threshold of 0", "use 1 for every occurrence");
  require_index("event of an overflow", event, state_->events);
  state_->here().set_threshold(event, threshold);
}
bool Overflow::emulated(std::size_t event) const {
  return std::ranges::count(state_->emulated, event) > 0;
}
std::vector<OverflowCount> Overflow::counts() {
  return state_->here().counts();
}
std::uint64_t Overflow::missed() {
  return state_->here().missed();
}

} // namespace recount
