// From trials and broken relations to one verdict for each preset. Pure.
#pragma once

#include "check/agreement.hpp"
#include "check/invariants.hpp"

#include <span>
#include <string>
#include <vector>

namespace recount::check {

/// A trial and its judgement.
struct Judged {
  Trial trial;
  Judgement judgement;
};

/// The verdict on one preset, with all the evidence.
struct PresetVerdict {
  std::string preset;
  Verdict verdict = Verdict::not_counted;
  std::string why;
  std::vector<Judged> trials; ///< the decisive one first
  std::vector<Broken> broken; ///< relations that it is part of
};

/// Judges all trials; the verdict of a preset is the worst of its trials. In the order in which presets first
/// appear. A broken relation is attributed to the presets in it whose own verdict is bad; without
/// such presets, to those that no kernel has verified; without these, to all.
[[nodiscard]] std::vector<PresetVerdict> verdicts(std::span<const Trial> trials,
                                                  std::span<const Broken> relations);

/// "L1_DCM <= L1_TCM: 2000 against 1000 by papi", for people.
[[nodiscard]] std::string describe(const Broken& relation);

} // namespace recount::check
