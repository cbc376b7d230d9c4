// Findings as text for people, as annotation lines for CI, as JSON and as SARIF.
#pragma once

#include "count/lint/lint.hpp"

#include <string>

namespace recount::lint {
// What changed between two versions of a preset table, and which findings are new.

/// A preset whose formula is another one, compared as algebra: reordered terms are no change.
struct FormulaChange {
  std::string preset;
  std::string before, after; ///< empty: the preset is not available
  std::vector<std::string> cpus;
};

/// A CPU that only the new table has.
struct AddedCpu {
  std::string name;
  int presets = 0;
  std::vector<std::string> same_rows; ///< CPUs of the table that have exactly the same rows
};

struct Comparison {
  std::string file; ///< the old table
  std::vector<AddedCpu> added;
  std::vector<std::string> removed;
  std::vector<FormulaChange> formulas; ///< on CPUs that both tables have
  std::vector<Finding> gone;
  std::size_t known = 0;     ///< findings of both tables
  std::size_t inherited = 0; ///< known findings in rows that now apply to an added CPU too
  std::size_t unchanged = 0; ///< rows that did not change, but those of relatives that they differ from
};

/// Compares the results of two tables, and leaves in `now` only the findings that `before` does not have.
[[nodiscard]] Comparison compare(const std::string& file, const LintResult& before, LintResult& now);

/// Fingerprints of known findings, one per line: fingerprint, rule, CPU, preset, with tabs.
class Baseline {
public:
  /// Throws Error (bad_input) when the file cannot be read or is no baseline.
  static Baseline read(const std::string& path);
  [[nodiscard]] static std::string text(const std::vector<const LintResult*>& results);
  /// Removes the findings that the baseline has; returns how many these were.
  std::size_t remove_known(std::vector<Finding>& findings);
  /// Entries that have not occurred in any remove_known().
  [[nodiscard]] std::size_t stale() const;

private:
  std::map<std::string, bool> prints_; ///< and whether it occurred
};

/// Which presets the CPUs of a table have.
struct CpuCoverage {
  std::string cpu;
  std::set<std::string> presets;
  std::map<std::string, std::string>
      could_have; ///< presets of a relative with rows that resolve here: its name
};
struct Coverage {
  std::vector<CpuCoverage> cpus;              ///< those whose events are known
  std::vector<std::string> pmus_without_rows; ///< core PMUs of this libpfm4
};
[[nodiscard]] Coverage coverage(const LintResult& result);
/// A screen of 24 lines, or with `all` each CPU.
[[nodiscard]] std::string as_text(const std::string& file, const Coverage& coverage, int columns, bool all);

// What is printed.

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
