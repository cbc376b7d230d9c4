#include "run/witness/counting.hpp"

#include "base/nearest.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/event/sysfs.hpp"
#include "count/papi/library.hpp"
#include "count/perf/open_group.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/standard.hpp"
#include "model/metrics.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/both.hpp"
#include "run/witness/stopwatch.hpp"

#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>

#include <algorithm>

// perf: the kernel's own counters, read raw.
namespace recount::witness {
namespace {

/// The first reason of the metrics that are refused; empty: at least one can be counted.
Reason first_refusal(const std::vector<std::string>& metrics,
                     const std::function<Reason(const std::string&)>& refusal) {
  Reason first;
  for (const auto& metric : metrics) {
    const Reason refused = refusal(metric);
    if (refused.empty()) return {};
    if (first.empty()) first = refused.about(metric);
  }
  return first;
}

Reason perf_missing(const std::vector<std::string>& metrics) {
  return first_refusal(metrics, [](const std::string& metric) { return resolve_metric(metric).refused; });
}

/// Events that do not fit together are counted in as many passes as it takes: alone scheduled a group is
/// counted exactly, while multiplexed groups are only estimated. Times are those of the last pass.
Reading count_in_passes(const std::vector<Event>& events, kernel::Instance& instance, std::size_t& number) {
  GroupOptions options;
  options.inherit = !instance.elsewhere().empty(); // it works in a child process
  Reading all;
  all.perf.resize(events.size());
  for (const auto& group : perf::make_passes(events, Counters(events).groups())) {
    const auto own = base::mapped(group, [&](std::size_t i) { return events[i]; });
    Nested nested(own, {}, options);
    static_cast<void>(nested.execute_nothing(Order::perf_alone)); // warm-up: binds symbols, touches pages
    Reading pass = nested.execute(instance.region(), Order::perf_alone);
    for (std::size_t i = 0; i < group.size(); ++i)
      all.perf[group[i]] = pass.perf[i];
    all.watched = std::move(pass.watched);
    ++number;
  }
  return all;
}

std::vector<result::Observation> observe_perf(const kernel::Kernel&, kernel::Instance* instance,
                                              const Task& task) {
  std::vector<MetricEvents> requested;
  std::vector<result::Observation> all;
  for (const auto& metric : task.metrics) {
    requested.push_back(resolve_metric(metric));
    auto& o = all.emplace_back(blank_observation(task, metric));
    o.accesses = instance->accesses();
    refuse(o, requested.back());
  }
  const auto sets = make_sets(requested, fits_one_group);
  std::size_t number = 0;
  for (const Set& set : sets) {
    const std::size_t before = number;
    const Reading pass = count_in_passes(set.events, *instance, number);
    for (std::size_t i = 0; i < set.metrics.size(); ++i) {
      auto& o = all[set.metrics[i]];
      const auto counts = set.counts_of(i, pass.perf);
      fill(o, requested[set.metrics[i]], counts);
      flag_core_types(o, requested[set.metrics[i]], counts);
      o.seconds = static_cast<double>(pass.watched.lapse.ns) / 1e9;
      o.flags.insert(o.flags.end(), pass.watched.flags.begin(), pass.watched.flags.end());
      if (number - before > 1)
        o.flags.emplace_back(Flag::Kind::note,
                             fmt::format("its terms were counted in {} passes", number - before));
      else if (sets.size() > 1)
        o.flags.emplace_back(Flag::Kind::note, fmt::format("counted in pass {} of {}", number, sets.size()));
    }
  }
  return all;
}

} // namespace

Backend perf_witness() {
  return {Witness::perf, "raw counters of the Linux kernel",
          true,          {"PAPI_L1_DCM", "PAPI_L2_DCM"},
          is_counter,    perf_missing,
          observe_perf};
}

// papi: the second count, through PAPI's event sets.
namespace {

/// Runs in a forked child, so that PAPI is not initialised in the process that starts the runs.
Reason papi_missing(const std::vector<std::string>& metrics) {
  const auto tried = process::in_fork(
      [&](int fd) {
        result::Observation o;
        o.reason = first_refusal(metrics, [](const std::string& metric) { return papi_refusal(metric); });
        return o.reason.empty() || process::write_all(fd, result::to_line(o)) ? 0 : 1;
      },
      std::chrono::seconds(20));
  if (!tried.exit.ok()) return papi::unanswered("counting", tried.exit);
  if (tried.out.empty()) return {};
  return std::get<result::Observation>(result::parse_line(tried.out, "trial of PAPI")).reason;
}

/// Fills the observations of `which` from one pass; throws Error when they cannot be counted together.
void count(std::vector<result::Observation>& all, const std::vector<std::size_t>& which,
           kernel::Instance& instance) {
  const auto names = base::mapped(which, [&](std::size_t i) { return counted_as(all[i].metric); });
  Nested nested({}, names);
  static_cast<void>(nested.execute_nothing(Order::papi_alone)); // warm-up: binds symbols, touches pages
  const Reading reading = nested.execute(instance.region(), Order::papi_alone);
  for (std::size_t i = 0; i < which.size(); ++i) {
    all[which[i]].value = std::int64_t{reading.papi[i]};
    all[which[i]].seconds = static_cast<double>(reading.watched.lapse.ns) / 1e9;
    all[which[i]].flags = reading.watched.flags;
  }
}

void count_separately(std::vector<result::Observation>& all, const std::vector<std::size_t>& which,
                      kernel::Instance& instance) {
  for (const std::size_t i : which) {
    try {
      count(all, {i}, instance);
      all[i].flags.emplace_back(Flag::Kind::note, "counted in a pass of its own");
    } catch (const Error& error) {
      all[i].reason = Reason(error.problem());
    }
  }
}

std::vector<result::Observation> observe_papi(const kernel::Kernel&, kernel::Instance* instance,
                                              const Task& task) {
  std::vector<result::Observation> all;
  std::vector<std::size_t> countable;
  for (const auto& metric : task.metrics) {
    auto& o = all.emplace_back(blank_observation(task, metric));
    o.accesses = instance->accesses();
    MetricEvents requested;
    requested.refused = papi_refusal(metric);
    refuse(o, requested);
    if (o.reason.empty()) o.reason = instance->elsewhere();
    if (o.reason.empty()) countable.push_back(all.size() - 1);
  }
  if (countable.empty()) return all;
  try {
    count(all, countable, *instance);
  } catch (const Error&) { // each can be counted, but not together
    count_separately(all, countable, *instance);
  }
  return all;
}

} // namespace

Reason papi_refusal(const std::vector<std::string>& names) {
  try {
    static_cast<void>(PapiSet(names, Domain::user));
    return {};
  } catch (const Error& error) {
    return error.problem();
  }
}

Reason papi_refusal(const std::string& metric) {
  return is_time(metric) ? "a time, not a count: use the clock witness"
                         : papi_refusal(std::vector{counted_as(metric)});
}

Countable resolve_metrics(const std::vector<std::string>& metrics) {
  Countable all;
  for (const std::string& metric : metrics) // PAPI first: it must initialise libpfm4 itself
    all.papi.emplace_back().refused = papi_refusal(metric);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    all.perf.push_back(resolve_metric(metrics[i]));
    all.papi[i].events = all.perf[i].events;
  }
  return all;
}

Backend papi_witness() {
  return {Witness::papi, "PAPI event sets", true,        {"PAPI_L1_DCM", "PAPI_L2_DCM"},
          is_counter,    papi_missing,      observe_papi};
}

namespace {

/// Those of PAPI itself and those of the tables that it reads here.
std::vector<std::string> preset_names() {
  std::vector<std::string> names = table_presets();
  for (const auto& standard : preset::standard_presets())
    names.emplace_back(standard.name);
  return names;
}

/// Of a machine of two cores, with more levels than any real one, all prefetchers and caches of
/// instructions, so that missing ones are known names.
const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = [] {
    constexpr std::size_t max_levels = 8;
    model::MachineDescription machine;
    machine.cores = 2;
    machine.levels.resize(max_levels);
    for (model::LevelDescription& level : machine.levels) {
      for (std::size_t kind = 0; kind < model::prefetch_kinds; ++kind)
        level.prefetch.push_back({static_cast<model::Prefetch>(kind)});
    }
    machine.tlb.emplace().levels.resize(max_levels);
    machine.instructions.emplace().tlb.resize(max_levels);
    return model::metric_names(machine, true);
  }();
  return names;
}

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::any_of(names, [&](const auto& known) { return preset::same_word(known, name); });
}

} // namespace

void require_known(const std::string& metric, const std::vector<std::string>& also) {
  if (is_time(metric)) return;                         // a time
  if (metric.find(":::") != std::string::npos) return; // of a component of PAPI, which alone knows its names
  const std::string name = metric.substr(0, metric.find(':')); // without qualifiers
  if (preset::standard_preset(name) || among(also, metric)) return;
  if (metric.starts_with("MODEL_")) {
    if (among(model_names(), metric)) return;
    throw bad_input(metric, "no such metric",
                    base::did_you_mean(metric, model_names(), "recount-machines(5) lists the model's"));
  }
  if (is_preset(metric)) {
    const auto known = preset_names();
    if (among(known, name) || among(model_names(), metric)) return;
    throw bad_input(metric, "no such preset", base::did_you_mean(name, known, "recount presets lists them"));
  }
  try {
    static_cast<void>(encode_each(metric));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) return;
    if (among(table_presets(), metric)) return; // a user event; reads tables, which takes milliseconds
    Problem problem = error.problem();
    std::vector<std::string> others = also;
    for (auto& preset : preset_names())
      others.push_back(std::move(preset));
    auto near = base::nearest(metric, others);
    if (near.empty()) throw;
    for (auto& event : event::suggestions(metric, event::pmus()))
      near.push_back(std::move(event));
    problem.fix = base::did_you_mean(near);
    throw Error(error.kind(), problem);
  }
}

} // namespace recount::witness
