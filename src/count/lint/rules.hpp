// The rules of the preset-table checker, and its findings.
#pragma once

#include <recount/preset.hpp>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::lint {

enum class Severity {
  error,   ///< PAPI crashes, drops the preset, or counts something else than the row defines
  warning, ///< probably a mistake
  note     ///< information; may be intended
};
[[nodiscard]] std::string_view name_of(Severity severity) noexcept;

struct Rule {
  std::string_view id; ///< "half-read", as in `# recount: allow half-read because …`
  Severity severity;
  int rank;             ///< among the findings of a severity: lower comes first
  std::string_view why; ///< one sentence: why it matters
};
[[nodiscard]] std::span<const Rule> rules();
/// Null for a name that is no rule.
[[nodiscard]] const Rule* rule_named(std::string_view id);

/// A finding in one row on one CPU.
struct Occurrence {
  Place place;
  std::string preset = {}, cpu = {}; ///< may be empty
  std::string cause = {};            ///< distinguishes causes in one row, without line numbers or prose
  /// Hashes of rule, CPU, preset, terms and cause; the same for all CPUs in `row_print`. See mark().
  std::string print = {}, row_print = {};
  bool known = false; ///< this build of libpfm4 knows the CPU
};

/// One cause, with all its places.
struct Finding {
  const Rule* rule = nullptr;
  std::string message;            ///< what is wrong, one sentence
  std::string suggestion = {};    ///< the likely correct text; may be empty
  std::vector<Place> places = {}; ///< sorted
  std::vector<std::string> presets = {};
  std::vector<std::string> cpus = {};      ///< libpfm4's or the table's names; empty: whatever the CPU
  std::vector<std::string> relations = {}; ///< of identities: those that fail for this one reason
  std::size_t known_cpus = 0; ///< how many of `cpus` this build of libpfm4 knows; they come first
  std::vector<Occurrence> occurrences = {};
  Severity severity = Severity::note; ///< the rule's, unless --strict raises it
  /// Sets the occurrences, and the places, presets and CPUs that follow from them.
  void keep(std::vector<Occurrence> wanted);
};

/// Removes the occurrences that `remove(finding, occurrence)` accepts, and findings without any; returns how
/// many findings had one.
template <class Remove>
std::size_t remove_occurrences(std::vector<Finding>& findings, const Remove& remove) {
  std::size_t changed = 0;
  for (Finding& finding : findings) {
    auto left = finding.occurrences;
    if (std::erase_if(left, [&](const Occurrence& o) { return remove(finding, o); }) == 0) continue;
    ++changed;
    finding.keep(std::move(left));
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.occurrences.empty(); });
  return changed;
}

/// Gathers findings; those with the same rule and key become one.
class Findings {
public:
  /// `key` is the identity of the cause; the message of the first finding is kept.
  Finding& add(std::string_view rule, const std::string& key, Occurrence where, std::string message,
               std::string suggestion = {});
  /// Where the place and the words make the cause.
  Finding& add_here(std::string_view rule, Occurrence where, std::string message,
                    std::string suggestion = {});
  /// What concerns CPUs that libpfm4 knows (`known_cpus`) first, then the worst, then by rank and number of
  /// CPUs.
  [[nodiscard]] std::vector<Finding> ranked(const std::set<std::string>& known_cpus) &&;

private:
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::vector<Finding> found_;
};

} // namespace recount::lint
