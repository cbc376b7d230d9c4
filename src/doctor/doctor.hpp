// What the doctor finds, one sentence and one remedy each. One file an area.
#pragma once

#include <string>
#include <vector>

namespace recount::cli {

struct Finding {
  enum class State {
    works,   ///< can be used
    limited, ///< can be used, with what the text says
    missing, ///< cannot be used here
    note     ///< a fact, neither good nor bad
  };
  State state = State::note;
  std::string subject; ///< "core PMU"
  std::string text;    ///< one sentence, with the evidence
  std::string remedy;  ///< what mends it; empty where nothing needs mending or can be
};
/// "works", "limited", "missing", "note".
[[nodiscard]] std::string name_of(Finding::State state);

/// A chapter of the report.
struct Area {
  std::string name;
  std::vector<Finding> findings;
};

/// What can be counted, what cannot and why, what to do next: three lines at most.
[[nodiscard]] std::vector<std::string> summary_of(const std::vector<Area>& areas);

/// Whether a command can do its work here, and by what, or why not.
struct Readiness {
  bool ready = false;
  std::string text;
};
/// Throws Error (bad_input) for a command of which it cannot be told.
void check_readiness_name(const std::string& command);
/// Of stat, sweep, caches, check, profile.
[[nodiscard]] Readiness readiness_of(const std::string& command, const std::vector<Area>& areas);

// None of these throws: what fails becomes a finding.
[[nodiscard]] Area examine_machine();
[[nodiscard]] Area examine_counting();
[[nodiscard]] Area examine_permission();
[[nodiscard]] Area examine_papi();
[[nodiscard]] Area examine_figures();
[[nodiscard]] Area examine_witnesses();

} // namespace recount::cli
