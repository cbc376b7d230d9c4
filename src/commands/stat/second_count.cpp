#include "commands/stat/second_count.hpp"

#include "show/command/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::stat {

namespace {

/// In the same executions both count the same: what is left is the time of two system calls.
constexpr double joint_tolerance = 0.01;

bool has_flag(const RowSummary& summary, Flag::Kind kind) {
  return std::ranges::find(summary.flags, kind, &Flag::kind) != summary.flags.end();
}

std::string explain_difference(const PlanRow& row, const RowSummary& perf) {
  const auto computed = std::ranges::find(perf.flags, Flag::Kind::other_papi_value, &Flag::kind);
  if (has_flag(perf, Flag::Kind::other_papi_value))
    return "PAPI evaluates the preset definition differently: " + computed->text;
  if (perf.share < 1)
    return fmt::format("possibly as perf counted {:.1f} % of the time and scaled, and PAPI counted all of it",
                       100 * perf.share);
  if (row.kind == RowKind::event && row.operands.front().requested.events.size() > 1)
    return "perf adds the core types, PAPI counts one of them";
  return {};
}

/// PAPI relative to perf.
std::string relative_text(const Difference& difference) {
  if (!difference.relative)
    return fmt::format("{} {} than perf", command::format_number(std::abs(*difference.value)),
                       *difference.value < 0 ? "less" : "more");
  const double factor = 1 + *difference.relative;
  if (factor >= 2) return fmt::format("{:.3g} times as much as perf", factor);
  return fmt::format("{:.3g} % {} than perf", 100 * std::abs(*difference.relative),
                     *difference.relative < 0 ? "less" : "more");
}

bool is_reported(const Difference& difference) {
  if (!difference.value || *difference.value == 0) return false;
  if (!difference.joint) return difference.evidence == statistics::Evidence::clear;
  return !difference.relative || std::abs(*difference.relative) > joint_tolerance || !difference.why.empty();
}

} // namespace

std::vector<Difference> differences(const Plan& plan, const RunResult& ended) {
  std::vector<Difference> all;
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (!row.twin) continue;
    Difference& difference = all.emplace_back();
    difference.perf = *row.twin;
    difference.papi = r;
    difference.joint = row.joint;
    const RowSummary perf = summarise(ended.repetitions, *row.twin), papi = summarise(ended.repetitions, r);
    if (!perf.mean || !papi.mean) continue;
    difference.value = *papi.mean - *perf.mean;
    if (*perf.mean > 0) difference.relative = *difference.value / *perf.mean;
    if (!row.joint) difference.evidence = statistics::evidence(perf.values, papi.values);
    if (*difference.value != 0) difference.why = explain_difference(row, perf);
    difference.reported = is_reported(difference);
  }
  return all;
}

std::vector<std::string> difference_notes(const Plan& plan, const RunResult& ended) {
  std::vector<std::string> notes;
  bool undecided = false, overlap = false;
  for (const Difference& difference : differences(plan, ended)) {
    if (difference.value && *difference.value != 0 && !difference.joint &&
        difference.evidence != statistics::Evidence::clear)
      (difference.evidence == statistics::Evidence::few ? undecided : overlap) = true;
    if (!difference.reported) continue;
    const std::string& name = plan.rows[difference.papi].name;
    const std::string why = !difference.why.empty() ? difference.why
                            : difference.joint
                                ? "the same executions, domain and preset definition; no cause is known"
                                : "separate executions; no cause is known";
    notes.push_back(fmt::format("{}: PAPI counts {}: {}", name, relative_text(difference), why));
  }
  if (undecided)
    notes.emplace_back(
        "?: perf and PAPI counted separate executions, as their counters do not fit on the PMU "
        "together: fewer than 3 repetitions decide nothing; repeat with -r 5");
  if (overlap) notes.emplace_back("?: not established: values of separate executions overlap");
  return notes;
}

} // namespace recount::stat
