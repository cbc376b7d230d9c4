// Findings of recount doctor, each with one sentence and at most one fix. One file per area.
#pragma once

#include <recount/reason.hpp>

#include <string>
#include <vector>

namespace recount::doctor {

struct Finding {
  enum class State {
    works,   ///< can be used
    limited, ///< can be used, with the limits in `text`
    missing, ///< cannot be used here
    dead,    ///< events open, and a trial counted none or too few of known occurrences
    note     ///< a fact, neither good nor bad
  };
  State state = State::note;
  std::string subject = {};            ///< "core PMU"
  std::string text = {};               ///< one sentence, with the evidence
  std::string fix = {};                ///< the fix; empty where none is needed or possible
  ReasonCode code = ReasonCode::other; ///< no_pmu, or permission: a trial failed because one is missing
};
/// "works", "limited", "missing", "dead", "note".
[[nodiscard]] std::string name_of(Finding::State state);

/// A section of the output.
struct Area {
  std::string name;
  std::vector<Finding> findings = {};
};

struct SummaryLine {
  std::string label, text; ///< "Counted", "hardware events, software events"
};
/// What can be counted, what cannot and why, what opens but is dead, what to do next: one line each.
[[nodiscard]] std::vector<SummaryLine> summarise(const std::vector<Area>& areas);

/// Whether a command can work on this machine, with which witnesses, or why not.
struct Readiness {
  bool ready = false;
  std::string text;
};
/// Throws Error (bad_input) for a command without a readiness test.
void check_readiness_name(const std::string& command);
/// Of stat, sweep, caches, check, profile.
[[nodiscard]] Readiness assess_readiness(const std::string& command, const std::vector<Area>& areas);

// None of these throws: what fails becomes a finding.
[[nodiscard]] Area examine_machine();
[[nodiscard]] Area examine_counting();
[[nodiscard]] Area examine_permission();
[[nodiscard]] Area examine_papi();
[[nodiscard]] Area examine_errata();
[[nodiscard]] Area examine_figures();
[[nodiscard]] Area examine_witnesses();

} // namespace recount::doctor
