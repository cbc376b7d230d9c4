#include "witness/nested.hpp"

#include <algorithm>

namespace recount::witness {
namespace {

[[gnu::noinline]] void do_nothing(void* /*context*/) {
  asm volatile("" ::: "memory");
}

} // namespace

/// What an execution needs, behind the pointer that a region takes.
struct Nested::Call {
  Nested& of;
  kernel::Region region;

  static void perf_outside(void* context) {
    const auto& c = *static_cast<Call*>(context);
    c.of.counters_->start();
    papi_alone(context);
    c.of.counters_->stop();
  }
  static void papi_outside(void* context) {
    const auto& c = *static_cast<Call*>(context);
    c.of.set_->start();
    perf_alone(context);
    c.of.set_->stop(c.of.values_);
  }
  static void perf_alone(void* context) {
    const auto& c = *static_cast<Call*>(context);
    c.of.counters_->start();
    c.region();
    c.of.counters_->stop();
  }
  static void papi_alone(void* context) {
    const auto& c = *static_cast<Call*>(context);
    c.of.set_->start();
    c.region();
    c.of.set_->stop(c.of.values_);
  }
};

Nested::Nested(const std::vector<Event>& events, const std::vector<std::string>& names)
    : values_(names.size()) {
  if (!names.empty()) set_.emplace(names, Domain::user);
  if (!events.empty()) counters_.emplace(events);
}

Reading Nested::execute(const kernel::Region& region, Order order) {
  constexpr void (*codes[])(void*) = {Call::perf_outside, Call::papi_outside, Call::perf_alone,
                                      Call::papi_alone};
  Call call{*this, region};
  if (counters_) counters_->reset();
  Reading reading;
  reading.watched = watched_lapse({codes[static_cast<std::size_t>(order)], &call});
  if (order != Order::papi_alone) reading.perf = counters_->read();
  if (order != Order::perf_alone) reading.papi = values_;
  return reading;
}

Reading Nested::execute_nothing(Order order) {
  return execute({do_nothing, nullptr}, order);
}

bool complete(const std::vector<Count>& counts) noexcept {
  return std::ranges::all_of(
      counts, [](const Count& c) { return c.value && c.running_ns == c.enabled_ns && c.enabled_ns > 0; });
}

} // namespace recount::witness
