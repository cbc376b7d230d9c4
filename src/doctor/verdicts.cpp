// The verdicts of recount check that are kept for this machine.
#include "base/format.hpp"
#include "base/names.hpp"
#include "doctor/doctor.hpp"
#include "errata/errata.hpp"
#include "host/machine.hpp"
#include "verdict/verdict_store.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>

namespace recount::doctor {
namespace {
using State = Finding::State;
using verdict::Machine;

std::string age(const verdict::Record& record, std::int64_t now) {
  std::int64_t latest = 0;
  for (const auto& entry : record.entries)
    latest = std::max(latest, entry.checked);
  constexpr std::int64_t hour = 3600, day = 24 * hour;
  const std::int64_t seconds = std::max<std::int64_t>(0, now - std::clamp<std::int64_t>(latest, 0, now));
  if (seconds < hour) return base::format_count(seconds / 60, "minute") + " ago";
  return (seconds < 2 * day ? base::format_count(seconds / hour, "hour")
                            : base::format_count(seconds / day, "day")) +
         " ago";
}

/// What differs from the machine of a record: "kernel (Linux 6.1.0 then, Linux 6.5.0 now)".
std::string differences(const Machine& then, const Machine& now) {
  const std::pair<const char*, std::string Machine::*> fields[] = {{"microcode", &Machine::microcode},
                                                                   {"kernel", &Machine::kernel},
                                                                   {"hypervisor", &Machine::hypervisor},
                                                                   {"PAPI", &Machine::papi}};
  const auto shown = [](const std::string& text) { return text.empty() ? "none" : text; };
  std::vector<std::string> all;
  for (const auto& [name, field] : fields)
    if (then.*field != now.*field)
      all.push_back(fmt::format("{} ({} then, {} now)", name, shown(then.*field), shown(now.*field)));
  if (then.table != now.table) all.emplace_back("preset table");
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string summary(const verdict::Record& record) {
  const auto names_preset = [](const auto& entry) { return is_preset(entry.name); };
  const bool only_events = std::ranges::none_of(record.entries, names_preset);
  std::map<std::string, int> numbers;
  int all = 0, agree = 0;
  for (const auto& entry : record.entries) {
    if (!only_events && !is_preset(entry)) continue;
    ++all;
    if (entry.verdict == "agrees")
      ++agree;
    else
      ++numbers[entry.verdict];
  }
  std::string text =
      fmt::format("{} of {}{}", agree, base::format_count(all, only_events ? "event" : "preset"),
                  agree == 1 ? " agrees" : " agree");
  for (const auto& [verdict, number] : numbers)
    text += fmt::format(", {} {}", number, verdict);
  return text;
}

Finding verdicts_finding() {
  const auto records = verdict::read();
  const Machine here = records.empty() ? Machine() : verdict::this_machine();
  const std::int64_t now = std::time(nullptr);
  const auto same = std::ranges::find(records, here, &verdict::Record::machine);
  if (same != records.end() && !records.empty())
    return {State::note,
            "verdicts",
            fmt::format("{}, checked {} with this kernel", summary(*same), age(*same, now)),
            {}};
  const auto stale =
      std::ranges::find_if(records, [&](const auto& record) { return record.machine.cpu == here.cpu; });
  if (stale == records.end()) return {State::note, "verdicts", "no preset was checked on this machine", {}};
  return {State::limited, "verdicts",
          fmt::format("stale: checked {} with another {}; values are not marked", age(*stale, now),
                      differences(stale->machine, here)),
          "recount check"};
}

std::vector<Finding> errata_findings() {
  std::vector<Finding> all;
  for (const auto* const erratum : errata::of_cpu(host::this_machine().cpu)) {
    std::vector<std::string> events;
    for (const auto& event : erratum->events)
      events.push_back(event.mask ? fmt::format("{:#04x}.{:02x}", event.select, *event.mask)
                                  : fmt::format("{:#04x}", event.select));
    all.push_back({State::note,
                   "errata",
                   fmt::format("events {}: {}", fmt::join(events, ", "), erratum->sentence()),
                   {}});
  }
  return all;
}

} // namespace

Area examine_verdicts() {
  Area area{"Validation", {}};
  try {
    area.findings.push_back(verdicts_finding());
  } catch (const Error& error) {
    area.findings.push_back({State::limited, "verdicts",
                             error.problem().subject + ": " + error.problem().cause, error.problem().remedy});
  }
  for (auto& finding : errata_findings())
    area.findings.push_back(std::move(finding));
  return area;
}

} // namespace recount::doctor
