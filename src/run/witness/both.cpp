#include "run/witness/both.hpp"

#include "base/host/emulation.hpp"
#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/perf/open_group.hpp"
#include "model/trace/request.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/counting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
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

Nested::Nested(const std::vector<Event>& events, const std::vector<std::string>& names,
               const GroupOptions& options)
    : values_(names.size()) {
  if (!names.empty()) {
    const trace::Pause pause; // PAPI looks every name up again
    set_.emplace(names, Domain::user);
  }
  if (!events.empty()) counters_.emplace(events, options);
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

namespace {

Set with(Set set, std::size_t metric, const MetricEvents& requested) {
  auto& at = set.at.emplace_back();
  set.metrics.push_back(metric);
  for (const Event& event : requested.events)
    at.push_back(event::place_among(set.events, event));
  return set;
}

} // namespace

std::vector<Count> Set::counts_of(std::size_t i, const std::vector<Count>& counts) const {
  return base::mapped(at.at(i), [&](std::size_t k) { return counts.at(k); });
}

std::vector<std::string> names_of(const Set& set, const std::vector<std::string>& metrics) {
  return base::mapped(set.metrics, [&](std::size_t i) { return counted_as(metrics[i]); });
}

bool fits_one_group(const Set& set) {
  return perf::make_passes(set.events, Counters(set.events).groups()).size() == 1;
}

std::vector<Set> make_sets(const std::vector<MetricEvents>& requested, const Fits& fits,
                           const std::function<bool(std::size_t)>& wanted) {
  constexpr int max_refusals = 2; // a set is full: trying costs more than a further set
  std::vector<Set> sets;
  std::vector<int> refusals;
  const auto add_to = [&](std::size_t s, std::size_t metric) {
    Set larger = with(sets[s], metric, requested[metric]);
    if (!sets[s].together || (refusals[s] >= max_refusals && larger.events.size() > sets[s].events.size()))
      return false;
    const bool fit = fits(larger);
    if (fit)
      sets[s] = std::move(larger);
    else
      ++refusals[s];
    return fit;
  };
  for (std::size_t i = 0; i < requested.size(); ++i) {
    if (!wanted(i)) continue;
    std::size_t s = 0;
    while (s < sets.size() && !add_to(s, i))
      ++s;
    if (s < sets.size()) continue;
    Set& own = sets.emplace_back(with({}, i, requested[i]));
    own.together = fits(own);
    refusals.push_back(0);
  }
  return sets;
}

std::vector<Set> make_sets(const std::vector<MetricEvents>& requested, const Fits& fits) {
  return make_sets(requested, fits, [&](std::size_t i) { return requested[i].refused.empty(); });
}

std::size_t passes() {
  static const std::size_t number = 2U * static_cast<unsigned>(host::repetitions(0, 2));
  return number;
}

// both: perf and PAPI over the same executions of the region, four per run, each the outer one twice (ABBA),
// or two where executions are equal, so that neither drift nor the overhead of starting the inner one appears
// as a difference.
namespace {

/// Odd: their median is one of them.
int empty_executions() {
  return host::repetitions(0, 7);
}

enum class Interface { perf, papi };

/// The interfaces that count a set, and their order.
struct PassPlan {
  bool perf = true, papi = true, together = true;
  [[nodiscard]] std::vector<Order> orders(std::size_t pass) const {
    const bool first = pass == 0 || pass == 3;
    if (!papi) return {Order::perf_alone};
    if (!perf) return {Order::papi_alone};
    if (together) return {first ? Order::perf_outside : Order::papi_outside};
    return first ? std::vector{Order::perf_alone, Order::papi_alone}
                 : std::vector{Order::papi_alone, Order::perf_alone};
  }
  [[nodiscard]] result::Nesting nesting(Order order, Interface interface) const {
    using enum result::Nesting;
    if (!perf || !papi) return alone;
    if (!together) return apart;
    return (order == Order::perf_outside) == (interface == Interface::perf) ? outer : inner;
  }
};

bool counts(Order order, Interface interface) {
  return order != (interface == Interface::perf ? Order::papi_alone : Order::perf_alone);
}

/// All observations of a run: by metric, pass and witness.
class PassObservations {
public:
  PassObservations(const Task& task, std::int64_t accesses) {
    for (const auto& metric : task.metrics)
      for (std::size_t pass = 0; pass < passes(); ++pass)
        for (const Witness::Kind witness : {Witness::perf, Witness::papi}) {
          auto& o = all_.emplace_back(blank_observation(task, metric));
          o.witness = witness;
          o.repetition = task.repetition * static_cast<int>(passes()) + static_cast<int>(pass);
          o.accesses = accesses;
        }
  }
  [[nodiscard]] result::Observation& at(std::size_t metric, std::size_t pass, Interface interface) {
    return all_[(metric * passes() + pass) * 2 + (interface == Interface::papi ? 1 : 0)];
  }
  template <class Put>
  void every(std::size_t metric, Interface interface, const Put& put) {
    for (std::size_t pass = 0; pass < passes(); ++pass)
      put(at(metric, pass, interface));
  }
  [[nodiscard]] std::vector<result::Observation> all() && { return std::move(all_); }

private:
  std::vector<result::Observation> all_;
};

/// One set over the region.
class Run {
public:
  Run(const Set& set, const std::vector<MetricEvents>& requested, const Task& task, const PassPlan& plan,
      PassObservations& observations)
      : set_(set),
        requested_(requested),
        pass_plan_(plan),
        observations_(observations),
        nested_(plan.perf ? set.events : std::vector<Event>{},
                plan.papi ? names_of(set, task.metrics) : std::vector<std::string>{}) {}

  void execute(const kernel::Region& region) {
    for (std::size_t pass = 0; pass < 2; ++pass) // each order once: later passes have the same
      for (const Order order : pass_plan_.orders(pass))
        execute_empty(order);
    for (std::size_t pass = 0; pass < passes(); ++pass)
      for (const Order order : pass_plan_.orders(pass))
        take(nested_.execute(region, order), order, pass);
  }

private:
  void execute_empty(Order order) {
    static_cast<void>(nested_.execute_nothing(order)); // the first call binds symbols and touches pages
    auto& readings = empty_[static_cast<std::size_t>(order)];
    readings.clear();
    for (int i = 0; i < empty_executions(); ++i)
      readings.push_back(nested_.execute_nothing(order));
  }

  /// Puts a value, or why there is none, from a reading of the k-th metric.
  void put(result::Observation& o, std::size_t k, const Reading& reading, Interface interface) const {
    if (interface == Interface::papi) {
      o.value = std::int64_t{reading.papi[k]};
      return;
    }
    const auto counts = set_.counts_of(k, reading.perf);
    if (complete(counts)) return fill(o, requested_[set_.metrics[k]], counts);
    const double least =
        share(*std::ranges::min_element(counts, {}, [](const Count& c) { return share(c); }));
    o.reason = fmt::format("multiplexed: scheduled {:.1f} % of the time (not scaled)", 100 * least);
  }

  /// The median of what empty executions counted; nothing where one of them has no value.
  [[nodiscard]] std::optional<std::int64_t> bias(std::size_t k, Order order, Interface interface) const {
    if (!requested_[set_.metrics[k]].linear) return {};
    std::vector<std::int64_t> values;
    for (const Reading& reading : empty_[static_cast<std::size_t>(order)]) {
      result::Observation o;
      put(o, k, reading, interface);
      const auto* const value = std::get_if<std::int64_t>(&o.value);
      if (!value) return {};
      values.push_back(*value);
    }
    const std::size_t middle = values.size() / 2;
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(middle));
    return values.at(middle);
  }

  void take(const Reading& reading, Order order, std::size_t pass) {
    for (std::size_t k = 0; k < set_.metrics.size(); ++k)
      for (const Interface interface : {Interface::perf, Interface::papi}) {
        if (!counts(order, interface)) continue;
        auto& o = observations_.at(set_.metrics[k], pass, interface);
        put(o, k, reading, interface);
        o.nesting = pass_plan_.nesting(order, interface);
        o.seconds = static_cast<double>(reading.watched.lapse.ns) / 1e9;
        o.flags.insert(o.flags.end(), reading.watched.flags.begin(), reading.watched.flags.end());
        auto* const value = std::get_if<std::int64_t>(&o.value);
        const auto empty = bias(k, order, interface);
        if (!value || !empty) continue;
        *value -= *empty;
        o.bias = *empty;
      }
  }

  const Set& set_;
  const std::vector<MetricEvents>& requested_;
  const PassPlan pass_plan_;
  PassObservations& observations_;
  Nested nested_;
  std::array<std::vector<Reading>, 4> empty_; ///< by order
};

/// Whether both can count the set at the same time, whoever starts first.
bool try_nested(const Set& set, const std::vector<std::string>& names) {
  try {
    Nested nested(set.events, names);
    return nested.perf_in_one_group() && complete(nested.execute_nothing(Order::perf_outside).perf) &&
           complete(nested.execute_nothing(Order::papi_outside).perf);
  } catch (const Error&) { // PAPI refuses them together
    return false;
  }
}

/// Each set is tried once in a process.
bool fits_nested(const Set& set, const std::vector<std::string>& metrics) {
  static std::map<std::vector<std::string>, bool> tried;
  const auto names = names_of(set, metrics);
  const auto found = tried.find(names);
  return found != tried.end() ? found->second : tried.emplace(names, try_nested(set, names)).first->second;
}

/// Each metric is resolved once in a process.
Countable resolve_once(const std::vector<std::string>& metrics) {
  static std::map<std::string, Countable> known;
  Countable all;
  for (const std::string& metric : metrics) {
    auto found = known.find(metric);
    if (found == known.end()) found = known.emplace(metric, resolve_metrics({metric})).first;
    all.perf.push_back(found->second.perf.front());
    all.papi.push_back(found->second.papi.front());
  }
  return all;
}

/// What both count of the metrics, together or one of them alone.
struct Division {
  struct Part {
    bool perf, papi;
    std::vector<Set> sets;
  };
  Countable can;
  std::vector<Part> parts;

  explicit Division(const std::vector<std::string>& metrics) : can(resolve_once(metrics)) {
    const auto add = [&](bool perf, bool papi, const Fits& fits) {
      parts.push_back({perf, papi, make_sets(can.perf, fits, [&](std::size_t i) {
                         return can.perf[i].refused.empty() == perf && can.papi[i].refused.empty() == papi;
                       })});
    };
    add(true, true, [&](const Set& set) { return fits_nested(set, metrics); });
    add(true, false, fits_one_group);
    add(false, true, [](const Set&) { return false; });
  }
};

const Division& division(const std::vector<std::string>& metrics) {
  static std::map<std::vector<std::string>, Division> known;
  const auto found = known.find(metrics);
  return found != known.end() ? found->second : known.emplace(metrics, Division(metrics)).first->second;
}

std::vector<result::Observation> observe_both(const kernel::Kernel&, kernel::Instance* instance,
                                              const Task& task) {
  PassObservations observations(task, instance->accesses());
  if (const std::string reason = instance->elsewhere(); !reason.empty()) {
    auto all = std::move(observations).all();
    for (result::Observation& o : all)
      o.reason = reason;
    return all;
  }
  const auto& [can, parts] = division(task.metrics);
  for (std::size_t i = 0; i < task.metrics.size(); ++i) {
    observations.every(i, Interface::papi, [&](result::Observation& o) { refuse(o, can.papi[i]); });
    observations.every(i, Interface::perf, [&](result::Observation& o) { refuse(o, can.perf[i]); });
  }
  for (const auto& [perf, papi, sets] : parts)
    for (const Set& set : sets)
      Run(set, can.perf, task, {perf, papi, set.together}, observations).execute(instance->region());
  return std::move(observations).all();
}

Reason both_missing(const std::vector<std::string>& metrics) {
  return find(Witness::perf).missing(metrics).empty() ? Reason() : find(Witness::papi).missing(metrics);
}

} // namespace

void prepare_both(const std::vector<std::string>& metrics) {
  static_cast<void>(division(metrics));
}

Backend both_witness() {
  return {Witness::both,
          "perf and PAPI over the same executions, nested in alternating order",
          true,
          {"PAPI_L1_DCM", "PAPI_L2_DCM"},
          is_counter,
          both_missing,
          observe_both,
          {Witness::perf, Witness::papi},
          static_cast<int>(passes())};
}

} // namespace recount::witness
