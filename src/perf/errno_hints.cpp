#include "perf/errno_hints.hpp"

#include "event/sysfs.hpp"
#include "host/event_class.hpp"
#include "host/machine.hpp"
#include "perf/try_open.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace recount::perf {
namespace {

void fill(std::string& text, const std::string& place, const std::string& with) {
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + with.size()))
    text.replace(at, place.size(), with);
}

std::string filled(const char* words, const Situation& s) {
  std::string text = words;
  fill(text, "{dead}", host::dead_reason(s.event.attr));
  fill(text, "{event}", s.event.name);
  fill(text, "{pmu}", s.event.pmu);
  fill(text, "{beside}", fmt::format("{}", fmt::join(s.beside, ", ")));
  fill(text, "{cpu}", std::to_string(s.options.cpu));
  fill(text, "{pid}", std::to_string(s.options.pid));
  return text;
}

/// " (EINVAL)"
std::string errno_name(int error) {
  if (error == dead_class) return {};
  const char* name = strerrorname_np(error);
  return fmt::format(" ({})", name == nullptr ? "errno " + std::to_string(error) : name);
}

bool has_core_pmu() {
  const auto& all = event::pmus();
  return std::any_of(all.begin(), all.end(), [](const host::Pmu& pmu) { return pmu.core(); });
}

bool is_uncore(const Event& event) {
  const auto& all = event::pmus();
  return std::any_of(all.begin(), all.end(), [&](const host::Pmu& pmu) {
    return pmu.type == event.attr.type && !pmu.core() && !pmu.cpumask.empty();
  });
}

bool opens_alone(const Event& event, const GroupOptions& options) {
  perf_event_attr attr = event.attr;
  attr.disabled = 1;
  return static_cast<bool>(open_leader(attr, {options.pid, options.cpu, -1}).fd);
}

} // namespace

Error hint(const Situation& situation, int error) {
  for (const Hint& row : hints()) {
    if (row.number != error || row.operation != situation.operation) continue;
    if (row.when != nullptr && !row.when(situation)) continue;
    return {row.kind,
            {situation.event.name, filled(row.cause, situation) + errno_name(error), show(row.setting),
             filled(row.remedy, situation)}};
  }
  return unavailable(situation.event.name, std::strerror(error) + errno_name(error));
}

Error open_error(const Event& event, int error, const GroupOptions& options,
                 std::vector<std::string> beside) {
  Situation situation{Operation::open, event,          options,         std::move(beside),
                      false,           has_core_pmu(), is_uncore(event)};
  if (!situation.beside.empty()) situation.alone_opens = opens_alone(event, options);
  return hint(situation, error);
}

Error call_error(Operation operation, const Event& event, int error, const std::string& call) {
  const Error known = hint({operation, event}, error);
  Problem problem = known.problem();
  problem.cause = call + ": " + problem.cause;
  return {known.kind(), problem};
}

Error never_runs_error(const Event& event, const std::vector<std::string>& beside) {
  const std::string setting = show(Setting::watchdog);
  if (beside.empty())
    return unavailable(
        event.name, "opened but never scheduled: all counters are in use", setting,
        "stop other users of the PMU (perf, a profiler); the NMI watchdog also uses a counter: "
        "sysctl -w kernel.nmi_watchdog=0 (as root)");
  return unavailable(
      event.name,
      fmt::format("the event group with {} opened but was never scheduled: too few free counters",
                  fmt::join(beside, ", ")),
      setting, "count it in another group: class Counters splits events into groups");
}

Error absent_error(const Event& event) {
  return unavailable(
      event.name,
      fmt::format("{} is not a PMU of this machine ({}): its event code has another meaning here", event.pmu,
                  host::this_machine().cpu.name),
      show(Setting::pmus), "recount events lists the available events");
}

} // namespace recount::perf
