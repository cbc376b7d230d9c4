// Reading results files: every line checked, every observation matched to the run that made it.
#pragma once

#include "result/observation.hpp"
#include "result/run.hpp"
#include "statistics/statistics.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace recount::result {

/// The contents of one or several results files, in the order of their lines.
struct Results {
  std::vector<Run> runs;
  std::vector<Observation> observations;
  std::vector<Failure> failures;
  std::vector<Section> sections;
  std::vector<std::string> warnings; ///< "FILE: the last line is torn, ignored", repeated observations
  /// What stands for the repetitions of a point, in everything that is made of these results.
  statistics::Statistic statistic = statistics::Statistic::median;

  /// The run of that id, or nullptr.
  [[nodiscard]] const Run* run(const std::string& id) const;
};

/// Longest line accepted, in bytes.
inline constexpr std::size_t longest_line = 1 << 20;

/// Reads a results file. The contents are not trusted: whatever they are, the outcome is Results or a
/// recount::Error (bad_input) that names FILE:LINE and the cause. A torn last line is ignored with a warning.
[[nodiscard]] Results read(const std::string& path);
/// Several files merged; the same run in two of them is taken once.
[[nodiscard]] Results read(const std::vector<std::string>& paths);
/// The same from text in memory; `name` is the file name in messages.
[[nodiscard]] Results read_text(std::string_view text, const std::string& name);

} // namespace recount::result
