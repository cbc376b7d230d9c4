#include "witness/nested.hpp"

#include <algorithm>
#include <utility>

namespace recount::witness {
namespace {

[[gnu::noinline]] void do_nothing(void* /*context*/) {
  asm volatile("" ::: "memory");
}

} // namespace

/// Context of an execution, passed through the pointer of the region.
struct Nested::Call {
  Nested& of;
  kernel::Region region;

  static auto in(Order order) -> void (*)(void*) {
    constexpr void (*codes[])(void*) = {perf_outside, papi_outside, perf_alone, papi_alone};
    return codes[static_cast<std::size_t>(order)];
  }
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

bool Nested::perf_in_one_group() const {
  return counters_ && counters_->groups().size() == 1;
}

Reading Nested::read(Order order, Watched watched) {
  Reading reading;
  reading.watched = std::move(watched);
  if (order != Order::papi_alone) reading.perf = counters_->read();
  if (order != Order::perf_alone) reading.papi = values_;
  return reading;
}

Reading Nested::execute(const kernel::Region& region, Order order) {
  Call call{*this, region};
  if (counters_) counters_->reset();
  return read(order, watched_lapse({Call::in(order), &call}));
}

Reading Nested::execute_nothing(Order order) {
  Call call{*this, {do_nothing, nullptr}};
  if (counters_) counters_->reset();
  Call::in(order)(&call);
  return read(order, {});
}

bool complete(const std::vector<Count>& counts) noexcept {
  return std::ranges::all_of(
      counts, [](const Count& c) { return c.value && c.running_ns == c.enabled_ns && c.enabled_ns > 0; });
}

} // namespace recount::witness
