#include "caches/infer/findings.hpp"

#include "base/names.hpp"
#include "caches/infer/record.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>

namespace recount::caches {

namespace {

constexpr const char* sources_note = "stated_by";
constexpr const char* otherwise_note = "stated_otherwise";
constexpr const char* shared_note = "shared_by "; // and the level

std::string note_of(const result::Run& run, const std::string& name) {
  const auto found = run.plan.find(name);
  return found == run.plan.end() ? std::string() : found->second;
}

int whole(const std::string& text, int fallback) {
  int value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

StatedCaches stated_by_machine(const std::string& name) {
  const auto machine = model::machine(name);
  StatedCaches stated{"machine " + machine.name, {}, {}, {}};
  for (const auto& level : machine.levels)
    stated.levels.push_back({level.name, level.size, level.line, level.ways, 1});
  return stated;
}

} // namespace

void note_stated(result::Run& run, const StatedNotes& notes) {
  if (!notes.sources.empty()) run.plan[sources_note] = notes.sources;
  if (!notes.otherwise.empty()) run.plan[otherwise_note] = notes.otherwise;
  for (const auto& [level, threads] : notes.shared_by)
    run.plan[shared_note + level] = std::to_string(threads);
}

StatedCaches stated_on_record(const result::Run& run, const std::string& machine) {
  if (!machine.empty()) return stated_by_machine(machine);
  const std::string witness = note_of(run, "witness");
  if (const auto machine = described_machine(witness)) return stated_by_machine(*machine);
  const std::string sources = note_of(run, sources_note);
  StatedCaches stated{sources.empty() ? "hwloc" : sources, {}, run.virtualised, note_of(run, otherwise_note)};
  for (const auto& cache : run.caches)
    stated.levels.push_back(
        {cache.level, cache.size, cache.line, cache.ways, whole(note_of(run, shared_note + cache.level), 1)});
  return stated;
}

CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                  const std::string& machine) {
  RecordSampler sampler(results, run);
  CachesFindings all;
  all.found = infer_caches(sampler);
  all.stated = stated_on_record(run, machine);
  compare(all.found, all.stated);
  all.rows = grid_rows(results, run);
  all.classic = classic_readings(all.rows);
  std::erase_if(all.classic, [&](const ClassicReading& reading) { return contradicts(reading, all.found); });
  all.cpu_model = run.cpu;
  if (const std::string cpu = note_of(run, "cpu"); !cpu.empty()) all.cpu = whole(cpu, 0);
  return all;
}

bool contradicts(const ClassicReading& reading, const Caches& found) {
  const auto outside = [](const ClassicValue& bounds, const Property& property) {
    return bounds.value && property.value &&
           (*property.value < static_cast<double>(*bounds.value) ||
            (bounds.below > 0 && *property.value >= static_cast<double>(bounds.below)));
  };
  if (reading.misses) return false;
  return std::ranges::any_of(found.levels, [&](const LevelFinding& level) {
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

std::vector<std::string> summary_lines(const Caches& found) {
  std::vector<std::string> lines;
  for (const LevelFinding& level : found.levels) {
    std::vector<std::string> parts;
    const auto add = [&](const Property& p, const char* format) {
      if (p.value) parts.push_back(fmt::format(fmt::runtime(format), value_text(p)));
    };
    add(level.capacity, "{}");
    if (level.ways.value) parts.push_back(ways_text(level.ways));
    add(level.line, "line {}");
    add(level.latency, "hit {}");
    add(level.penalty, "miss + {}");
    lines.push_back(
        fmt::format("{}: {}", level.shared_use.empty() ? level.name : level_text(level),
                    parts.empty() ? std::string("unknown") : fmt::format("{}", fmt::join(parts, ", "))));
  }
  return lines;
}

} // namespace recount::caches
