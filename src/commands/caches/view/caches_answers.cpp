// The questions of a laboratory on caches, answered from what a report shows.
#include "base/format.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/view/caches_sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {
namespace {

using document::Answer;

/// A property and its cells in the tables of a report.
struct PropertyName {
  const char* name; ///< "capacity"
  Property LevelFinding::*found;
  ClassicValue ClassicReading::*read;
};
constexpr PropertyName properties[] = {{"size", &LevelFinding::capacity, &ClassicReading::capacity},
                                       {"line (block) size", &LevelFinding::line, &ClassicReading::line},
                                       {"associativity", &LevelFinding::ways, &ClassicReading::ways}};

std::string bound_text(const ClassicReading& reading, const PropertyName& property) {
  const ClassicValue& value = reading.*property.read;
  if (property.read == &ClassicReading::ways) return classic_ways_text(reading) + " ways";
  if (property.read == &ClassicReading::line) return base::format_bytes(*value.value);
  return fmt::format("from {} to less than {}", base::format_bytes(*value.value),
                     base::format_bytes(value.below));
}

/// Cells of the grid.
std::string grid_cells(const ClassicReading& reading, const PropertyName& property) {
  const ClassicValue& value = reading.*property.read;
  if (property.read == &ClassicReading::capacity)
    return fmt::format("sizes {} and {}", base::format_bytes(*value.value), base::format_bytes(value.below));
  return property.read == &ClassicReading::line
             ? fmt::format("stride {} at sizes beyond the capacity", base::format_bytes(*value.value))
             : "the largest strides at sizes beyond the capacity";
}

std::optional<Answer> answer_read(const GridReading& grid, const PropertyName& property) {
  const ClassicReading& reading = grid.reading;
  if (!(reading.*property.read).value) return {};
  Answer answer;
  answer.value = bound_text(reading, property);
  answer.proof = grid.caption;
  answer.cells = grid_cells(reading, property);
  answer.confidence = reading.modelled ? "modelled" : reading.misses ? "medium" : "low";
  return answer;
}

std::optional<Answer> answer_found(const CachesFindings& shown, const std::string& level,
                                   const Property LevelFinding::*property) {
  for (const LevelFinding& one : shown.found.levels) {
    const Property& p = one.*property;
    if (one.name != level || !p.value) continue;
    Answer answer;
    answer.value = property == &LevelFinding::ways ? ways_text(p) : value_text(p);
    answer.proof = findings_caption(shown);
    answer.cells = fmt::format("row {} {}", level_text(one), p.name);
    answer.confidence = to_string(p.confidence);
    return answer;
  }
  return {};
}

/// The first source with a value, or the reason of the first that has one.
class PropertyAnswer {
public:
  PropertyAnswer(const CacheEvidence& evidence, std::string level, const PropertyName& property)
      : evidence_(evidence), level_(std::move(level)), property_(property) {}

  /// Times of this machine: of the inference, else of the grid.
  [[nodiscard]] Answer by_times() const {
    for (const auto& shown : evidence_.found)
      if (shown.found.witness == Witness::clock)
        if (auto answer = answer_found(shown, level_, property_.found)) return *answer;
    if (auto answer = read(false, false)) return *answer;
    for (const auto& [reading, caption] : evidence_.readings)
      if (!reading.misses && !(reading.*property_.read).unknown.empty())
        return {.reason = (reading.*property_.read).unknown};
    return {.reason = "no times over enough sizes and strides: run recount caches"};
  }

  /// Counted misses, then whatever the inference measured, then the model.
  [[nodiscard]] Answer by_misses() const {
    if (auto answer = read(true, false)) return *answer;
    for (const auto& shown : evidence_.found)
      if (auto answer = answer_found(shown, level_, property_.found)) return *answer;
    if (auto answer = read(true, true)) return *answer;
    return {.reason = why_unknown()};
  }

private:
  [[nodiscard]] std::optional<Answer> read(bool misses, bool modelled) const {
    for (const auto& grid : evidence_.readings)
      if (grid.reading.level == level_ && grid.reading.misses == misses && grid.reading.modelled == modelled)
        if (auto answer = answer_read(grid, property_)) return answer;
    return {};
  }
  [[nodiscard]] std::string why_unknown() const {
    for (const auto& shown : evidence_.found)
      for (const LevelFinding& one : shown.found.levels)
        if (one.name == level_ && !(one.*property_.found).unknown.empty())
          return (one.*property_.found).unknown.text();
    for (const auto& [reading, caption] : evidence_.readings)
      if (reading.level == level_ && !(reading.*property_.read).unknown.empty())
        return (reading.*property_.read).unknown;
    return evidence_.uncounted.empty() ? "no sizes and strides around its capacity were measured"
                                       : evidence_.uncounted;
  }

  const CacheEvidence& evidence_;
  std::string level_;
  const PropertyName& property_;
};

/// Only of dependent loads: others overlap.
Answer answer_penalty(const CacheEvidence& evidence) {
  for (const auto& shown : evidence.found)
    if (auto found = answer_found(shown, level_name(0), &LevelFinding::penalty)) return *found;
  for (const auto& [reading, caption] : evidence.readings)
    if (reading.penalty)
      return {.value = fmt::format("{:.3g} ns", *reading.penalty),
              .proof = caption,
              .cells = "difference between the plateaus below and beyond the capacity",
              .confidence = "medium"};
  return {.reason = "no dependent loads were timed over enough sizes and strides (recount caches, or the "
                    "kernel chase); accesses of the kernel stride overlap and are prefetched"};
}

Answer answer_meaning(const CacheEvidence& evidence) {
  Answer answer;
  std::vector<std::string> formulas;
  for (const char* preset : {"PAPI_L1_DCM", "PAPI_L2_DCM"})
    if (const auto formula = evidence.presets.find(preset); formula != evidence.presets.end())
      formulas.push_back(fmt::format("{} = {}", preset, formula->second));
  if (!formulas.empty()) {
    answer.value = fmt::format("{}", fmt::join(formulas, "; "));
    answer.confidence = "as the preset table states";
  } else if (evidence.modelled) {
    answer.value = "demand misses of the simulated levels";
    answer.confidence = "modelled";
  }
  if (formulas.empty())
    answer.reason =
        evidence.uncounted.empty() ? "the results lack the formulas of the presets" : evidence.uncounted;
  return answer;
}

constexpr const char* changes_for_l2 = "Sizes around the capacity of L2 in place of that of L1d, because "
                                       "smaller arrays are served by L1d. Strides "
                                       "of at least a line, or a multiple of the size of a way of L1d, "
                                       "because only accesses that miss in L1d reach "
                                       "L2. PAPI_L2_DCM in place of PAPI_L1_DCM.";

Answer answer_comparison(const CacheEvidence& evidence) {
  if (evidence.found.empty()) return {.reason = "recount caches was not run"};
  return {.value = comparison_text(evidence.found.front()),
          .proof = findings_caption(evidence.found.front()),
          .cells = "columns found and stated"};
}

} // namespace

std::vector<Answer> answer_questions(const CacheEvidence& evidence) {
  std::vector<Answer> all;
  const auto add = [&](std::string question, Answer answer) {
    answer.question = std::move(question);
    all.push_back(std::move(answer));
  };
  const auto add_by_misses = [&](const std::string& level) {
    for (const PropertyName& property : properties)
      add(fmt::format("{}: {}", level, property.name), PropertyAnswer(evidence, level, property).by_misses());
  };
  add("Size of L1d, from access times", PropertyAnswer(evidence, level_name(0), properties[0]).by_times());
  add("Line (block) size of L1d, from access times",
      PropertyAnswer(evidence, level_name(0), properties[1]).by_times());
  add("Miss penalty of L1d", answer_penalty(evidence));
  add("What PAPI_L1_DCM and PAPI_L2_DCM count", answer_meaning(evidence));
  add_by_misses(level_name(0));
  add("What has to change for L2, and why", {.value = changes_for_l2, .confidence = "by the method"});
  add_by_misses(level_name(1));
  add("Comparison with what the system states", answer_comparison(evidence));
  return all;
}

} // namespace recount::caches
