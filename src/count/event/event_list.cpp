#include "count/event/event_list.hpp"

#include "base/host/event_class.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/event/encode.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <utility>

namespace recount::event {
namespace {

/// About the generic events of libpfm4's table "perf", whose own texts are only names. After
/// perf_event_open(2) and, for what the manual leaves out, the comments in linux/perf_event.h.
constexpr std::pair<const char*, const char*> generic_events[] = {
    {"PERF_COUNT_HW_CPU_CYCLES", "CPU cycles; depends on frequency scaling"},
    {"PERF_COUNT_HW_INSTRUCTIONS", "retired instructions; hardware interrupts may add some"},
    {"PERF_COUNT_HW_CACHE_REFERENCES", "cache accesses, usually of the last level; may include prefetches"},
    {"PERF_COUNT_HW_CACHE_MISSES", "cache misses, usually of the last level"},
    {"PERF_COUNT_HW_BRANCH_INSTRUCTIONS", "retired branch instructions"},
    {"PERF_COUNT_HW_BRANCH_MISSES", "mispredicted branch instructions"},
    {"PERF_COUNT_HW_BUS_CYCLES", "bus cycles, which may differ from CPU cycles"},
    {"PERF_COUNT_HW_STALLED_CYCLES_FRONTEND", "cycles stalled while issuing"},
    {"PERF_COUNT_HW_STALLED_CYCLES_BACKEND", "cycles stalled while retiring"},
    {"PERF_COUNT_HW_REF_CPU_CYCLES", "reference cycles, independent of the CPU frequency"},
    {"PERF_COUNT_SW_CPU_CLOCK", "nanoseconds of the per-CPU clock"},
    {"PERF_COUNT_SW_TASK_CLOCK", "nanoseconds that the task ran"},
    {"PERF_COUNT_SW_PAGE_FAULTS", "page faults, minor and major"},
    {"PERF_COUNT_SW_CONTEXT_SWITCHES", "context switches; they occur in the kernel, so :u counts none"},
    {"PERF_COUNT_SW_CPU_MIGRATIONS",
     "migrations to another CPU; they occur in the kernel, so :u counts none"},
    {"PERF_COUNT_SW_PAGE_FAULTS_MIN", "minor page faults: without input from disk"},
    {"PERF_COUNT_SW_PAGE_FAULTS_MAJ", "major page faults: with input from disk"},
    {"PERF_COUNT_SW_ALIGNMENT_FAULTS", "unaligned accesses fixed up by the kernel; none on x86"},
    {"PERF_COUNT_SW_EMULATION_FAULTS", "instructions emulated by the kernel"},
    {"PERF_COUNT_SW_CGROUP_SWITCHES", "context switches to a task of another control group"},
};

Reason no_core_pmu() {
  return {"this kernel has no core PMU (no cpu* or armv* in /sys/bus/event_source/devices)",
          ReasonCode::no_pmu};
}

Reason why_not(const Event& event, bool core_pmu) {
  if (!event.present) return {"not on this machine: PMU " + event.pmu, ReasonCode::no_event};
  const auto type = event.attr.type;
  const bool core = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
  return core && !core_pmu ? no_core_pmu() : host::dead_reason(event.attr);
}

Source from_table(const pfm::Table& table, bool core_pmu) {
  Source source{table.name, table.prose, false, table.present, {}, table.events};
  if (!table.present)
    source.reason = {"not on this machine", ReasonCode::no_event};
  else if (table.kind == pfm::Table::Kind::core && !core_pmu)
    source.reason = no_core_pmu();
  return source;
}

/// The search over one source.
class Finder {
public:
  Finder(const Search& search, const std::vector<host::Pmu>& pmus)
      : pattern_(search.pattern), pmus_(pmus), core_pmu_(std::ranges::any_of(pmus, &host::Pmu::core)) {}

  void table(const pfm::Table& table) {
    for (const pfm::Entry& entry : pfm::entries(table)) {
      ListedEvent one{table.name + "::" + entry.name, table.name, entry.prose, entry.equivalent, {}, {}, {}};
      for (const auto& [name, prose] : generic_events)
        if ((entry.equivalent.empty() ? entry.name : entry.equivalent) == name) one.prose = prose;
      one.attributes = pfm::attributes(entry);
      if (!matches(one) && !narrow(one)) continue;
      const pfm::Encoded code = pfm::encode(one.name, Domain::all);
      if (code.ok) one.event = Event{one.name, code.pmu, code.attr, false, code.present};
      Event probe{one.name, table.name, code.attr, false, code.ok ? code.present : table.present};
      if (!code.ok && table.kind == pfm::Table::Kind::core) probe.attr.type = PERF_TYPE_RAW;
      one.reason = why_not(probe, core_pmu_);
      found.push_back(std::move(one));
    }
  }

  void sysfs(const host::Pmu& pmu) {
    for (const auto& [event, terms] : pmu.events) {
      ListedEvent one{pmu.name + "/" + event + "/", pmu.name, terms, {}, {}, {}, {}};
      if (const auto unit = pmu.units.find(event); unit != pmu.units.end())
        one.prose += " (" + unit->second + ")";
      if (!matches(one)) continue;
      // An event that takes a parameter ("core=?") has no encoding of its own.
      if (terms.find("=?") == std::string::npos) encode(one);
      found.push_back(std::move(one));
    }
    for (const auto& [lower, event] : pmu.described) {
      ListedEvent one{pmu.name + "/" + event.name + "/", pmu.name, event.prose, {}, {}, {}, {}};
      if (event.deprecated) one.prose = "deprecated: " + one.prose;
      if (!matches(one) && !pattern_.matches(event.name)) continue;
      encode(one);
      found.push_back(std::move(one));
    }
  }

  std::vector<ListedEvent> found;

private:
  void encode(ListedEvent& one) const {
    try {
      one.event = encode_over(one.name, Domain::all, pmus_);
    } catch (const Error& error) { // a register, a filter or a term that the PMU or this build does not have
      one.reason = error.problem();
    }
  }

  bool matches(const ListedEvent& one) const {
    return pattern_.matches(one.name) || pattern_.matches(one.name.substr(one.name.rfind(':') + 1)) ||
           (!pattern_.glob() && pattern_.matches(one.prose));
  }

  /// Keeps the unit masks that match, if any does.
  bool narrow(ListedEvent& one) const {
    const auto other = [&](const pfm::Attribute& attribute) {
      return attribute.modifier ||
             !(pattern_.matches(one.name + ":" + attribute.name) || pattern_.matches(attribute.name) ||
               (!pattern_.glob() && pattern_.matches(attribute.prose)));
    };
    if (std::all_of(one.attributes.begin(), one.attributes.end(), other)) return false;
    std::erase_if(one.attributes, other);
    return true;
  }

  base::Pattern pattern_;
  const std::vector<host::Pmu>& pmus_;
  bool core_pmu_;
};

} // namespace

std::vector<Source> sources(const std::vector<host::Pmu>& pmus) {
  std::vector<Source> found;
  const bool core_pmu = std::ranges::any_of(pmus, &host::Pmu::core);
  for (const host::Pmu& pmu : pmus)
    found.push_back({pmu.name, "Linux, type " + std::to_string(pmu.type), true, true, {}, pmu.events.size()});
  for (const pfm::Table& table : pfm::tables())
    found.push_back(from_table(table, core_pmu));
  std::ranges::stable_partition(found, &Source::on_this_machine);
  return found;
}

std::vector<ListedEvent> list(const Search& search, const std::vector<host::Pmu>& pmus) {
  const base::Pattern wanted(search.pmu);
  const auto requested = [&](const std::string& name, bool on_this_machine) {
    if (search.pmu.empty()) return on_this_machine;
    return wanted.glob() ? wanted.matches(name) : name == search.pmu;
  };
  Finder finder(search, pmus);
  bool any = false;
  for (const host::Pmu& pmu : pmus) {
    if (!requested(pmu.name, true)) continue;
    any = true;
    finder.sysfs(pmu);
  }
  for (const pfm::Table& table : pfm::tables()) {
    if (!requested(table.name, table.present)) continue;
    any = true;
    finder.table(table);
  }
  if (!any && !search.pmu.empty())
    throw bad_input(search.pmu, "no such PMU, neither in libpfm4 nor in sysfs",
                    base::did_you_mean(search.pmu, base::mapped(sources(pmus), &Source::name),
                                       "recount events --pmu '*' lists the events of every PMU"));
  return std::move(finder.found);
}

} // namespace recount::event
