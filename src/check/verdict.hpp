// From trials and broken relations to one verdict for each preset. Pure.
#pragma once

#include "check/agreement.hpp"
#include "check/invariants.hpp"
#include "plot/figure.hpp"
#include "result/read.hpp"

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

/// `results` for the caption. Throws recount::Error (bad_input) when there is no preset with a count and
/// an expected count other than 0.
[[nodiscard]] plot::Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts,
                                            const result::Results& results);

/// The figure "agreement" of the results of recount check.
[[nodiscard]] plot::Figure agreement_figure();

/// Whether the results are those of `recount check`.
[[nodiscard]] bool is_check(const result::Results& results) noexcept;

/// One verdict for each metric that was counted and that its kernel or the model states, by each kernel's own
/// tolerance; relations between presets are left out. Standard presets first, in PAPI's order.
[[nodiscard]] std::vector<PresetVerdict> verdicts_of(const result::Results& results);

} // namespace recount::check
