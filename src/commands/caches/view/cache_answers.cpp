#include "commands/caches/view/caches_sections.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

namespace recount::caches {
namespace {

using document::Answer;

/// A property as findings have it, and as readings of a grid do.
struct PropertyName {
  const char* name; ///< "size"
  Property LevelFinding::*found;
  ClassicValue ClassicReading::*read;
};
constexpr PropertyName properties[] = {{"size", &LevelFinding::capacity, &ClassicReading::capacity},
                                       {"line (block) size", &LevelFinding::line, &ClassicReading::line},
                                       {"associativity", &LevelFinding::ways, &ClassicReading::ways}};

std::optional<Answer> answer_read(const GridReading& grid, const PropertyName& property) {
  const auto& [reading, caption] = grid;
  const ClassicValue& value = reading.*property.read;
  if (!value.value) return {};
  const std::string least = base::format_bytes(*value.value), below = base::format_bytes(value.below);
  Answer answer;
  if (property.read == &ClassicReading::capacity) {
    answer.value = fmt::format("from {} to less than {}", least, below);
    answer.cells = fmt::format("sizes {} and {}", least, below);
  } else if (property.read == &ClassicReading::line) {
    answer.value = least;
    answer.cells = fmt::format("stride {} at sizes beyond the capacity", least);
  } else {
    answer.value = classic_ways_text(reading) + " ways";
    answer.cells = "the largest strides at sizes beyond the capacity";
  }
  answer.proof = caption;
  answer.confidence = reading.modelled ? "modelled" : reading.misses ? "medium" : "low";
  return answer;
}

std::optional<Answer> answer_found(const CacheEvidence& evidence, const std::string& level,
                                   const Property LevelFinding::*property, bool by_time = false) {
  for (const CachesFindings& shown : evidence.found)
    for (const LevelFinding& one : shown.found.levels) {
      const Property& p = one.*property;
      if (one.name != level || !p.value || (by_time && shown.found.witness != Witness::clock)) continue;
      Answer answer;
      answer.value = property == &LevelFinding::ways ? ways_text(p) : value_text(p);
      answer.proof = findings_caption(shown);
      answer.cells = fmt::format("row {} {}", level_text(one), p.name);
      answer.confidence = to_string(p.confidence);
      return answer;
    }
  return {};
}

/// Answers from the first source that has a value; where none has, with the first reason that a source gives.
class PropertyAnswer {
public:
  PropertyAnswer(const CacheEvidence& evidence, std::string level, const PropertyName& property)
      : evidence_(evidence), level_(std::move(level)), property_(property) {}

  /// Times of this machine: of the inference, else of the grid.
  [[nodiscard]] Answer by_times() const {
    if (auto answer = answer_found(evidence_, level_, property_.found, true)) return *answer;
    if (auto answer = read(false, false)) return *answer;
    for (const auto& [reading, caption] : evidence_.readings)
      if (!reading.misses && !(reading.*property_.read).unknown.empty())
        return {.reason = (reading.*property_.read).unknown};
    return {.reason =
                "the measured times do not cover sizes and strides around its capacity: run recount caches"};
  }

  /// Counted misses, of the inference first, then its times, then the model.
  [[nodiscard]] Answer by_misses() const {
    auto found = answer_found(evidence_, level_, property_.found);
    if (found && evidence_.found.front().found.witness != Witness::clock) return *found; // at more sizes
    if (auto answer = read(true, false)) return *answer;
    if (found) return *found;
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
  if (auto found = answer_found(evidence, level_name(0), &LevelFinding::penalty)) return *found;
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

Answer answer_comparison(const CacheEvidence& evidence) {
  if (evidence.found.empty()) return {.reason = "recount caches was not run"};
  return {.value = comparison_text(evidence.found.front()),
          .proof = findings_caption(evidence.found.front()),
          .cells = "columns found and stated"};
}

} // namespace

std::string findings_caption(const CachesFindings& findings) {
  return fmt::format("Caches found from {}, {}, compared with {}",
                     base::format_count(findings.found.readings, "reading"),
                     base::format_witness(findings.found.witness), findings.stated.source);
}

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
