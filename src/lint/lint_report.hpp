// Findings as text for people, as annotation lines for CI, as JSON and as SARIF.
#pragma once

#include "lint/lint.hpp"
#include "lint/since.hpp"

#include <string>

namespace recount::lint {

struct ReportOptions {
  int columns = 100;
  int most = 3;       ///< findings shown per rule; 0: all
  bool notes = false; ///< show notes too, not only their number
};

/// Of each finding, the one that it follows from, or null.
[[nodiscard]] std::vector<const Finding*> root_causes(const std::vector<Finding>& findings);

[[nodiscard]] std::string as_text(const std::string& file, const LintResult& result,
                                  const ReportOptions& options);
/// file:line: severity: message [rule], one per place.
[[nodiscard]] std::string as_annotations(const std::string& file, const LintResult& result);
/// The elements of "findings", one object per finding.
[[nodiscard]] std::string as_json(const std::vector<std::pair<std::string, LintResult>>& results,
                                  const Comparison* since = nullptr);
/// A SARIF 2.1.0 log. `compared`: the findings are those that an old table or a baseline does not have.
[[nodiscard]] std::string as_sarif(const std::vector<std::pair<std::string, LintResult>>& results,
                                   bool compared);
/// What changed between two tables: CPUs, formulas, findings that are gone.
[[nodiscard]] std::string as_text(const Comparison& since, int columns);

} // namespace recount::lint
