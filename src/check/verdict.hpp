// From trials and broken relations to one verdict for each preset. Pure.
#pragma once

#include "check/agreement.hpp"
#include "host/machine.hpp"
#include "plot/sheet.hpp"
#include "result/results_file.hpp"

#include <recount/event.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::check {

/// A trial and its judgement.
struct Judged {
  Trial trial;
  Judgement judgement;
};

/// A term of a formula, counted alone.
struct Term {
  struct Count {
    std::string kernel;
    result::Params point;
    double counted = 0;              ///< median
    std::optional<Stated> of_preset; ///< the expected count of the preset there
  };
  std::string name;
  std::vector<Count> counts;
  std::string reason;                  ///< why it was not counted
  [[nodiscard]] bool dead() const;     ///< 0 wherever it was counted
  [[nodiscard]] bool constant() const; ///< the same count, not 0, at three points or more
  /// Counts, and only where the expected count of the preset is 0: the place where it counts most.
  [[nodiscard]] const Count* only_elsewhere() const;
};

/// Expected counts of other presets: by kernel and point, then by preset.
using ExpectedCounts = std::map<std::pair<std::string, result::Params>, std::map<std::string, Stated>>;

/// The verdict on one preset, with all the evidence.
struct PresetVerdict {
  std::string preset;
  Verdict verdict = Verdict::not_counted;
  std::string why;
  std::vector<Judged> trials;      ///< the decisive one first
  std::vector<Broken> broken;      ///< relations that it is part of
  std::vector<Term> terms;         ///< of a formula with several
  std::vector<std::string> errata; ///< published ones of its events, unless it agrees
  /// Presets, or multiples of them, whose expected counts would have been accepted as well: "PAPI_REF_CYC",
  /// "2 * PAPI_L1_DCM".
  std::vector<std::string> could_also_be;
};

/// Judges all trials; the verdict of a preset is the worst of its trials. In the order in which presets first
/// appear. Dead is what counts 0 wherever it must count; where only some trials count 0, the meaning differs.
/// What agrees is plausible if no trial excludes twice and half the count. A broken relation is attributed to
/// the presets in it whose own verdict is bad; without such presets, to those that no kernel has verified;
/// without these, to all.
[[nodiscard]] std::vector<PresetVerdict> verdicts(std::span<const Trial> trials,
                                                  std::span<const Broken> relations);

/// What else would have been accepted: each other preset, and multiples by powers of two up to 8, whose
/// expected counts are within what every trial accepts wherever both are known, and that are not 0 in one of
/// them.
[[nodiscard]] std::vector<std::string> substitutes(std::span<const Judged> trials,
                                                   const ExpectedCounts& expected);

/// Names the published errata of the events of a preset that does not agree. Pure.
void add_errata(PresetVerdict& verdict, std::span<const Event> events, const host::Cpu& cpu);

/// Adds the terms' part in a wrong count to the causes of the decisive trial.
void blame_terms(PresetVerdict& verdict);

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
