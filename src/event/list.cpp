#include "event/list.hpp"

#include "base/text.hpp"
#include "base/nearest.hpp"
#include "event/encode.hpp"
#include "event/generic_prose.hpp"
#include "host/event_class.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::event {
namespace {

constexpr auto no_core_pmu =
    "this kernel has no core PMU (no cpu* or armv* in /sys/bus/event_source/devices)";

bool any_core(const std::vector<host::Pmu>& pmus) {
  return std::any_of(pmus.begin(), pmus.end(), [](const host::Pmu& pmu) { return pmu.core(); });
}

std::string why_not(const Event& event, bool core_pmu) {
  if (!event.present) return "another machine's: no PMU " + event.pmu + " here";
  const auto type = event.attr.type;
  const bool core = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
  return core && !core_pmu ? no_core_pmu : host::dead_reason(event.attr);
}

Source from_table(const pfm::Table& table, bool core_pmu) {
  Source source{table.name, table.prose, false, table.present, {}, table.events};
  if (!table.present)
    source.reason = "another machine's";
  else if (table.kind == pfm::Table::Kind::core && !core_pmu)
    source.reason = no_core_pmu;
  return source;
}

/// The search over one source.
class Finder {
public:
  Finder(const Search& search, const std::vector<host::Pmu>& pmus)
      : pattern_(search.pattern), pmus_(pmus), core_pmu_(any_core(pmus)) {}

  void table(const pfm::Table& table) {
    for (const pfm::Entry& entry : pfm::entries(table)) {
      Listed one{table.name + "::" + entry.name, table.name, entry.prose, entry.equivalent, {}, {}, {}};
      if (const auto prose = generic_prose(entry.equivalent.empty() ? entry.name : entry.equivalent);
          !prose.empty())
        one.prose = prose;
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
      Listed one{pmu.name + "/" + event + "/", pmu.name, terms, {}, {}, {}, {}};
      if (const auto unit = pmu.units.find(event); unit != pmu.units.end())
        one.prose += " (" + unit->second + ")";
      if (!matches(one)) continue;
      // An event that takes a parameter ("core=?") has no encoding of its own.
      if (terms.find("=?") == std::string::npos) one.event = encode_over(one.name, Domain::all, pmus_);
      found.push_back(std::move(one));
    }
  }

  std::vector<Listed> found;

private:
  bool matches(const Listed& one) const {
    return pattern_.matches(one.name) || pattern_.matches(one.name.substr(one.name.rfind(':') + 1)) ||
           (!pattern_.glob() && pattern_.matches(one.prose));
  }

  /// Keeps the unit masks that match, if any does.
  bool narrow(Listed& one) const {
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

[[noreturn]] void no_such_source(const std::string& name, const std::vector<Source>& all) {
  std::vector<std::string> names;
  for (const Source& source : all)
    names.push_back(source.name);
  std::string remedy = base::did_you_mean(name, names);
  if (remedy.empty()) remedy = "recount events --pmu '*' lists the events of every PMU";
  throw bad_input(name, "no such PMU, neither in libpfm4 nor in sysfs", remedy);
}

} // namespace

std::vector<Source> sources(const std::vector<host::Pmu>& pmus) {
  std::vector<Source> found;
  const bool core_pmu = any_core(pmus);
  for (const host::Pmu& pmu : pmus)
    found.push_back({pmu.name, "Linux, type " + std::to_string(pmu.type), true, true, {}, pmu.events.size()});
  for (const pfm::Table& table : pfm::tables())
    found.push_back(from_table(table, core_pmu));
  std::stable_sort(found.begin(), found.end(),
                   [](const Source& a, const Source& b) { return a.here && !b.here; });
  return found;
}

std::vector<Listed> list(const Search& search, const std::vector<host::Pmu>& pmus) {
  const base::Pattern wanted(search.pmu);
  const auto asked = [&](const std::string& name, bool here) {
    if (search.pmu.empty()) return here;
    return wanted.glob() ? wanted.matches(name) : name == search.pmu;
  };
  Finder finder(search, pmus);
  bool any = false;
  for (const host::Pmu& pmu : pmus) {
    if (!asked(pmu.name, true)) continue;
    any = true;
    finder.sysfs(pmu);
  }
  for (const pfm::Table& table : pfm::tables()) {
    if (!asked(table.name, table.present)) continue;
    any = true;
    finder.table(table);
  }
  if (!any && !search.pmu.empty()) no_such_source(search.pmu, sources(pmus));
  return std::move(finder.found);
}

} // namespace recount::event
