// The questions of a laboratory on caches, answered from what a report shows.
#include "base/format.hpp"
#include "caches/infer/findings.hpp"
#include "caches/view/caches_sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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

/// Cells of the grid, sizes across and strides down.
std::string grid_cells(const ClassicReading& reading, const PropertyName& property) {
  const ClassicValue& value = reading.*property.read;
  if (property.read == &ClassicReading::capacity)
    return fmt::format("columns {} and {}", base::format_bytes(*value.value),
                       base::format_bytes(value.below));
  return property.read == &ClassicReading::line
             ? fmt::format("row {} in the columns beyond the capacity", base::format_bytes(*value.value))
             : "the last rows of the columns beyond the capacity";
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

std::optional<Answer> answer_found(const ShownFindings& shown, const std::string& level,
                                   const Property LevelFinding::*property) {
  for (const LevelFinding& one : shown.all.found.levels) {
    const Property& p = one.*property;
    if (one.name != level || !p.value) continue;
    Answer answer;
    answer.value = property == &LevelFinding::ways ? ways_text(p) : value_text(p);
    answer.proof = shown.caption;
    answer.cells = fmt::format("row {} {}", level_text(one), p.name);
    answer.confidence = shown.all.found.modelled ? "modelled" : to_string(p.confidence);
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
  [[nodiscard]] Answer by_times(const std::string& question) const {
    for (const auto& shown : evidence_.found)
      if (shown.all.found.witness == Witness::clock)
        if (auto answer = answer_found(shown, level_, property_.found))
          return named(std::move(*answer), question);
    if (auto answer = read(false, false)) return named(std::move(*answer), question);
    for (const auto& [reading, caption] : evidence_.readings)
      if (!reading.misses && !(reading.*property_.read).unknown.empty())
        return unanswered(question, (reading.*property_.read).unknown);
    return unanswered(question, "no times over sizes and strides: run recount caches");
  }

  /// Counted misses, then whatever the inference measured, then the model.
  [[nodiscard]] Answer by_misses() const {
    const std::string question = fmt::format("{}: {}", level_, property_.name);
    if (auto answer = read(true, false)) return named(std::move(*answer), question);
    for (const bool modelled : {false, true})
      for (const auto& shown : evidence_.found)
        if (shown.all.found.modelled == modelled)
          if (auto answer = answer_found(shown, level_, property_.found))
            return named(std::move(*answer), question);
    if (auto answer = read(true, true)) return named(std::move(*answer), question);
    return unanswered(question, why_unknown());
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
      for (const LevelFinding& one : shown.all.found.levels)
        if (one.name == level_ && !(one.*property_.found).unknown.empty())
          return (one.*property_.found).unknown;
    for (const auto& [reading, caption] : evidence_.readings)
      if (reading.level == level_ && !(reading.*property_.read).unknown.empty())
        return (reading.*property_.read).unknown;
    return evidence_.uncounted.empty() ? "no sizes and strides around its capacity were measured"
                                       : evidence_.uncounted;
  }
  static Answer named(Answer answer, std::string question) {
    answer.question = std::move(question);
    return answer;
  }
  static Answer unanswered(std::string question, std::string reason) {
    return {std::move(question), {}, std::move(reason)};
  }

  const CacheEvidence& evidence_;
  std::string level_;
  const PropertyName& property_;
};

/// Only of dependent loads: others overlap.
Answer answer_penalty(const CacheEvidence& evidence) {
  Answer answer{"Miss penalty of L1d"};
  for (const auto& shown : evidence.found)
    if (auto found = answer_found(shown, level_name(0), &LevelFinding::penalty)) {
      found->question = answer.question;
      return *found;
    }
  for (const auto& [reading, caption] : evidence.readings)
    if (reading.penalty) {
      answer.value = fmt::format("{:.3g} ns", *reading.penalty);
      answer.proof = caption;
      answer.cells = "difference between the plateaus below and beyond the capacity";
      answer.confidence = "medium";
      return answer;
    }
  answer.reason = "no dependent loads were timed (recount caches, or the kernel chase); accesses of the "
                  "kernel stride overlap and are prefetched";
  return answer;
}

Answer answer_meaning(const CacheEvidence& evidence) {
  Answer answer{"What PAPI_L1_DCM and PAPI_L2_DCM count"};
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
  Answer answer{"Comparison with what the system states"};
  if (evidence.found.empty())
    answer.reason = "recount caches was not run";
  else {
    answer.value = evidence.comparisons.front();
    answer.proof = evidence.found.front().caption;
    answer.cells = "columns found and stated";
  }
  return answer;
}

} // namespace

std::vector<Answer> answer_questions(const CacheEvidence& evidence) {
  std::vector<Answer> all;
  const auto question = [&](std::size_t level, std::size_t property) {
    return PropertyAnswer(evidence, level_name(level), properties[property]);
  };
  all.push_back(question(0, 0).by_times("Size of L1d, from access times"));
  all.push_back(question(0, 1).by_times("Line (block) size of L1d, from access times"));
  all.push_back(answer_penalty(evidence));
  all.push_back(answer_meaning(evidence));
  for (std::size_t property = 0; property < std::size(properties); ++property)
    all.push_back(question(0, property).by_misses());
  all.push_back({"What has to change for L2, and why", changes_for_l2, {}, {}, {}, "by the method"});
  for (std::size_t property = 0; property < std::size(properties); ++property)
    all.push_back(question(1, property).by_misses());
  all.push_back(answer_comparison(evidence));
  return all;
}

} // namespace recount::caches
