#include "caches/infer/stated.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "caches/infer/inference.hpp"
#include "caches/infer/record_sampler.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

constexpr const char* sources_note = "stated_by";
constexpr const char* otherwise_note = "stated_otherwise";
constexpr const char* shared_note = "shared_by "; // and the level

std::string note(const result::Run& run, const std::string& name) {
  const auto found = run.plan.find(name);
  return found == run.plan.end() ? std::string() : found->second;
}

StatedCaches stated_by_machine(const std::string& name) {
  const auto machine = model::machine(name);
  StatedCaches stated{"machine " + machine.name};
  for (const auto& level : machine.levels)
    stated.levels.push_back({level.name, level.size, level.line, level.ways, 1});
  return stated;
}

StatedCaches stated_on_record(const result::Run& run, const std::string& machine) {
  if (!machine.empty()) return stated_by_machine(machine);
  if (const auto described = Witness(note(run, "witness")).described_machine())
    return stated_by_machine(*described);
  const std::string sources = note(run, sources_note);
  StatedCaches stated{sources.empty() ? "hwloc" : sources, {}, run.virtualised, note(run, otherwise_note)};
  for (const auto& cache : run.caches)
    stated.levels.push_back({cache.level, cache.size, cache.line, cache.ways,
                             base::parse<int>(note(run, shared_note + cache.level)).value_or(1)});
  return stated;
}

/// Why a value may differ.
std::string reason_of_difference(const LevelFinding& level, const Property& p, const StatedLevel& stated,
                                 bool virtual_machine) {
  if (!level.shared_use.empty())
    return "others used a part of it during the measurement: " + shared_use_text(level);
  if (level.effective)
    return "others may use a part of it, or pages may be placed unevenly" +
           (stated.shared_by > 1
                ? fmt::format("; it is stated to be shared by {} hardware threads", stated.shared_by)
                : "");
  const std::string other_cpu =
      virtual_machine ? "the hypervisor may state the value of another CPU" : "the stated value may be wrong";
  if (p.name != "capacity") return other_cpu;
  return (*p.value < *p.stated ? "others on the core may use a part of it; or "
                               : "an exclusive level adds to the one above it; or ") +
         other_cpu;
}

} // namespace

void note_stated(result::Run& run, const StatedNotes& notes) {
  if (!notes.sources.empty()) run.plan[sources_note] = notes.sources;
  if (!notes.otherwise.empty()) run.plan[otherwise_note] = notes.otherwise;
  for (const auto& [level, threads] : notes.shared_by)
    run.plan[shared_note + level] = std::to_string(threads);
}

void compare(Caches& found, const StatedCaches& by) {
  for (LevelFinding& level : found.levels) {
    const auto stated = std::ranges::find(by.levels, level.name, &StatedLevel::name);
    if (stated == by.levels.end()) continue;
    const std::int64_t lines = stated->line > 0 ? stated->size / stated->line : 0;
    for (const auto& [property, value] :
         {std::pair(&level.capacity, stated->size), std::pair(&level.line, stated->line),
          std::pair(&level.ways, stated->ways < 0 ? lines : stated->ways)}) {
      if (value == 0) continue;
      Property& p = *property;
      p.stated = static_cast<double>(value);
      p.stated_by = by.source;
      if (!p.value)
        p.agreement = StatedMatch::not_found;
      else if (std::abs(*p.value - *p.stated) <= p.tolerance * *p.value + 1e-9)
        p.agreement = p.tolerance > most_of_exact ? StatedMatch::near : StatedMatch::agrees;
      else
        p.agreement = StatedMatch::differs;
      if (p.agreement == StatedMatch::differs)
        p.remark = reason_of_difference(level, p, *stated, !by.hypervisor.empty());
    }
  }
}

CachesFindings make_findings(Caches found, const result::Results& results, const result::Run& run,
                             const std::string& machine) {
  CachesFindings all;
  all.found = std::move(found);
  all.stated = stated_on_record(run, machine);
  compare(all.found, all.stated);
  all.rows = grid_rows(results, {&run, 1}).front();
  all.classic = classic_readings(all.rows);
  std::erase_if(all.classic, [&](const ClassicReading& reading) { return contradicts(reading, all.found); });
  all.cpu_model = run.cpu;
  all.cpu = base::parse<int>(note(run, "cpu"));
  return all;
}

CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                  const std::string& machine) {
  RecordSampler sampler(results, run);
  return make_findings(infer_caches(sampler), results, run, machine);
}

bool contradicts(const ClassicReading& reading, const Caches& found) {
  const auto outside = [](const ClassicValue& bounds, const Property& property) {
    return bounds.value && property.value &&
           (*property.value < static_cast<double>(*bounds.value) ||
            (bounds.below > 0 && *property.value >= static_cast<double>(bounds.below)));
  };
  return !reading.misses && std::ranges::any_of(found.levels, [&](const LevelFinding& level) {
    return level.name == reading.level &&
           (outside(reading.capacity, level.capacity) || outside(reading.ways, level.ways));
  });
}

std::vector<Paragraph> justification(const CachesFindings& findings) {
  std::vector<Paragraph> all = justification(findings.found);
  for (const ClassicReading& reading : findings.classic)
    all.push_back({fmt::format("{} from the grid of sizes and strides: {}", reading.level,
                               classic_values_text(reading)),
                   classic_text(reading)});
  if (!findings.stated.otherwise.empty())
    all.push_back({"Sources of the stated values",
                   fmt::format("{} agree; {} differs.", findings.stated.source, findings.stated.otherwise)});
  return all;
}

} // namespace recount::caches
