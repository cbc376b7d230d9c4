// Findings that follow from others: a relation between presets fails because one of them is wrong itself.
#include "lint/report.hpp"

#include <algorithm>

namespace recount::lint {
namespace {

/// Rules about relations between presets.
constexpr std::string_view relations[] = {"identity", "other-sources", "identity-note", "same-formula"};
/// Warnings about one preset; all errors but "impossible", which is a relation, are root causes too.
constexpr std::string_view causes[] = {
    "scalar-as-vector",       "stores-as-loads",      "loads-as-stores",
    "instructions-as-data",   "data-as-instructions", "cycles-as-instructions",
    "instructions-as-cycles", "not-mispredicted",     "other-level",
    "prefetches-as-demand",   "accesses-as-hits",     "hits-as-accesses",
    "misses-as-accesses",     "loads-as-total",       "unconditional-as-conditional"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool is_cause(const Finding& finding) {
  return finding.rule->severity == Severity::error ? finding.rule->id != "impossible"
                                                   : holds(causes, finding.rule->id);
}

/// Whether the cause concerns a preset of the relation on each of its CPUs.
bool explains(const Finding& cause, const Finding& relation) {
  return !relation.cpus.empty() &&
         std::ranges::all_of(relation.cpus, [&](const std::string& cpu) { return holds(cause.cpus, cpu); }) &&
         std::ranges::any_of(relation.presets,
                             [&](const std::string& preset) { return holds(cause.presets, preset); });
}

} // namespace

std::vector<const Finding*> root_causes(const std::vector<Finding>& findings) {
  std::vector<const Finding*> roots(findings.size(), nullptr);
  std::vector<const Finding*> found;
  for (const Finding& finding : findings)
    if (is_cause(finding)) found.push_back(&finding);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!holds(relations, findings[i].rule->id)) continue;
    const auto cause =
        std::ranges::find_if(found, [&](const Finding* one) { return explains(*one, findings[i]); });
    if (cause != found.end()) roots[i] = *cause;
  }
  return roots;
}

} // namespace recount::lint
