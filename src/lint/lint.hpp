// Checks a preset table for all its CPUs at once, with no hardware.
#pragma once

#include "lint/rules.hpp"
#include "preset/view.hpp"

#include <string>

namespace recount::lint {

struct LintOptions {
  PapiVersion version = PapiVersion::v7_0;
  std::string cpu;                                           ///< only this one; empty: all
  const std::vector<preset::Identity>* identities = nullptr; ///< null: those built in
  bool cpu_may_lack = false;                                 ///< a table without `cpu` has no findings
};

struct LintResult {
  std::vector<Finding> findings;    ///< ranked
  std::vector<std::string> checked; ///< CPUs whose event names were looked up
  std::vector<std::string>
      unchecked;                     ///< CPUs that this build of libpfm4 does not know: all but names checked
  std::vector<std::string> obsolete; ///< names that no libpfm4 PMU can have
  int presets = 0;                   ///< definitions in force, over all CPUs
  std::vector<preset::CpuView> views; ///< each CPU that was looked at
};

/// Throws Error (bad_input) when `options.cpu` is not in the table.
[[nodiscard]] LintResult lint(const PresetTable& table, const LintOptions& options);

/// The families of rules. Each looks at one CPU, the first and the last at the text.
void check_text(const preset::Document& table, PapiVersion version, Findings& findings);
void check_reading(const preset::CpuView& view, Findings& findings);
void check_formulas(const preset::CpuView& view, const preset::Document& table, Findings& findings);
void check_family(const preset::CpuView& view, Findings& findings);
void check_identities(const preset::CpuView& view, const std::vector<preset::Identity>& identities,
                      Findings& findings);
void check_rows(const preset::Document& table, const std::vector<preset::CpuView>& views, Findings& findings);
/// Computes the hashes of all occurrences. They do not depend on line numbers, notes or the wording of
/// messages.
void mark(const preset::Document& table, std::vector<Finding>& findings);
/// The hash of a finding: the same whatever CPUs it concerns.
[[nodiscard]] std::string fingerprint(const Finding& finding);
/// Removes findings that comments of the table allow; unused allowances become findings.
void apply_allowances(const preset::Document& table, bool all_cpus, std::vector<Finding>& findings);

} // namespace recount::lint
