// From the counts of perf, PAPI and the model to one verdict per preset. Pure.
#pragma once

#include "base/host/machine.hpp"
#include "base/statistics/statistics.hpp"
#include "count/preset/standard.hpp"
#include "run/result/observation.hpp"
#include "run/result/results_file.hpp"

#include <recount/event.hpp>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::check {

/// Result of a comparison of the witnesses, in order of severity.
enum class Verdict {
  not_counted,      ///< no count; the reason is given
  agrees,           ///< within the stated tolerance, by perf and by PAPI
  perf_agrees,      ///< by perf; PAPI counts nothing here, for the reason given
  plausible,        ///< within bounds that also admit twice or half the count
  unstable,         ///< the repetitions vary too much for a verdict
  broken_invariant, ///< contradicts another preset measured in the same run
  meaning_differs,  ///< perf and PAPI agree, but differ from the expected count
  dead,             ///< 0 where the expected count is larger
  mapping_differs   ///< PAPI's value differs from its table row
};
/// "mapping differs"
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;
/// Whether nothing is wrong: agrees, perf agrees, plausible or not counted.
[[nodiscard]] constexpr bool sound(Verdict verdict) noexcept {
  return verdict <= Verdict::plausible;
}

/// Counts of one preset at one point by one witness, one group per process.
struct Measurement {
  statistics::Groups values; ///< the count of an empty region is already subtracted
  /// These counts of the empty region, by the nesting of the witnesses (result::Observation).
  std::map<result::Nesting, std::vector<double>> empty;
  Reason reason;                    ///< why there are no values
  bool crashed = false;             ///< counting it crashes the process
  bool definition_unusable = false; ///< no value because of the preset definition
  std::string other_value;          ///< perf's remark that PAPI computes another value from the same counts

  [[nodiscard]] bool counted() const;
};

/// The expected count: the true value is within [value - below, value + above].
struct Stated {
  double value = 0, below = 0, above = 0;
  std::string form; ///< how that is known
};

/// One preset at one point, with the counts of the witnesses.
struct Trial {
  std::string preset; ///< or an event
  std::string metric; ///< the metric of the expected count: the same by default
  std::string kernel;
  result::Params point;
  double tolerance = 0;         ///< share of the stated value by which a sound count may differ
  bool fixed_tolerance = false; ///< set by the user: noise does not widen it
  std::optional<Stated> stated; ///< none: unknown, with the reason in `unstated`
  Reason unstated;
  Measurement perf, papi;
  statistics::Groups differences; ///< perf - papi, pass by pass
  bool separate_runs = false;     ///< perf and PAPI counted different executions
  /// Stated as a multiple of the same preset's count at another point.
  bool relative = false;
};

/// The verdict on a trial, with its evidence.
struct Judgement {
  Verdict verdict = Verdict::not_counted;
  std::string why; ///< a clause
  std::optional<statistics::Estimate> perf, papi, difference;
  std::optional<double> factor;    ///< counted / stated, of what lies outside
  std::optional<double> widened;   ///< the tolerance, where noise needs a wider one than the trial's
  std::vector<std::string> causes; ///< likely ones
};

/// The kernel of trials of whole programs, which perf and PAPI always count in executions of their own.
inline constexpr const char* command_kernel = "command";

/// How far perf and PAPI may differ, as a share of the larger; never more than the trial's own tolerance.
inline constexpr double witness_tolerance = 0.01;

/// The widest tolerance that noise may need, as a share: beyond, wrong factors of 1.05 could not be told.
inline constexpr double widest_tolerance = 0.04;

/// A count without decimals where it is whole or large.
[[nodiscard]] std::string count_text(double value);
/// "2 times", "0.4 % more than": a count relative to the expected one, before "the expected count". Pure.
[[nodiscard]] std::string relative_text(double factor);

/// Where repetitions vary too much for the tolerance, but include counts that it accepts, it is widened until
/// the interval is inside: up to widest_tolerance, unless it is 0 or fixed.
[[nodiscard]] Judgement judge(const Trial& trial);

/// The counts that a trial accepts, but for the noise; none without an expected count.
[[nodiscard]] std::optional<statistics::Band> accepted(const Trial& trial);
/// Whether it accepts neither twice nor half the stated value.
[[nodiscard]] bool tight(const Trial& trial);
/// Whether 0 occurrences are fewer than expected.
[[nodiscard]] bool must_count(const Trial& trial);

/// By how much the counts of an empty region vary (p10 to p90, the widest nesting's): smaller differences are
/// not significant.
[[nodiscard]] double noise(const Measurement& measured);
/// What an empty region counts: the median of the nesting that counts least. None where it was not measured.
[[nodiscard]] std::optional<double> bias(const Measurement& measured);

// Likely causes of a count that differs from the expected one by a known factor (data/causes.txt).

/// The likely causes for a preset or event that counts each of these factors too much at one point, most
/// likely first, two at most.
[[nodiscard]] std::vector<std::string> likely_causes(const std::string& preset,
                                                     const std::vector<double>& factors);

// Relations between presets, compared with the counts of one run. Pure.

/// What one witness counted of several presets while one kernel was executed at one point: pass by pass, a
/// group for each process.
struct Counted {
  std::string kernel;
  result::Params point;
  Witness witness;
  std::vector<std::vector<std::map<std::string, double>>> passes; ///< values by preset
};

/// A relation that does not hold.
struct Broken {
  preset::Identity identity;
  std::string kernel;
  Witness witness;
  result::Params point;
  statistics::Estimate left, right; ///< medians alone
  statistics::Estimate difference;  ///< left - right, pass by pass
};

/// How far the sides may differ, as a share of the larger; smaller absolute differences are not significant.
inline constexpr double invariant_tolerance = 0.05, stray_occurrences = 64;
/// The same for presets of caches, of which some count prefetches and others do not: as in the rough points
/// of kernel/data/proofs.txt.
inline constexpr double prefetch_tolerance = 0.2;

/// How far the sides of a relation may differ beyond noise: a share of the larger, and a number.
struct Tolerance {
  double share = invariant_tolerance;
  double of_caches = prefetch_tolerance; ///< of presets of caches, where it is wider
  double error = 0;                      ///< added: what the counts are known to lack in precision
};

/// A relation with the counts of one place: whether the difference is within what is allowed.
struct Tested : Broken {
  double margin = 0; ///< the allowed difference
  statistics::Held held = statistics::Held::undecided;
};
/// None where not all presets of the relation were counted, and for kernels that prefetch by instructions.
[[nodiscard]] std::optional<Tested> test_relation(const Counted& counted, const preset::Identity& identity,
                                                  const Tolerance& tolerance);

/// Those of the relations that apply to the kind of CPU, all of whose presets were counted, and that the
/// counts contradict: the interval of the difference lies wholly outside what is allowed.
[[nodiscard]] std::vector<Broken> broken(const Counted& counted, std::span<const preset::Identity> identities,
                                         preset::CpuKind kind);

// From trials and broken relations to one verdict for each preset.

/// A trial, with the tolerance that its judgement used.
struct Judged {
  Trial trial;
  Judgement judgement;
};

/// A term of a formula, counted alone.
struct Term {
  struct Count {
    std::string kernel;
    result::Params point;
    double counted = 0; ///< median
  };
  std::string name;
  double weight = 0; ///< its factor in the formula; 0: the formula is not linear
  std::vector<Count> counts;
  std::string reason;              ///< why it was not counted
  [[nodiscard]] bool dead() const; ///< 0 wherever it was counted
};

/// The verdict on one preset, with all the evidence.
struct PresetVerdict {
  std::string preset;
  Verdict verdict = Verdict::not_counted;
  std::string why;
  std::vector<Judged> trials;      ///< the decisive one first
  std::vector<Broken> broken;      ///< relations that it is part of
  std::vector<Term> terms;         ///< of a formula with several
  std::vector<std::string> errata; ///< published ones of its events, unless it agrees
  /// Likely mistakes in the row with which nothing would be wrong, either: "L1D:REPLACEMENT lost".
  std::vector<std::string> passing_mistakes;
};

/// Whether PAPI counted it at one point at least.
[[nodiscard]] bool counted_by_papi(const PresetVerdict& verdict);

/// Judges all trials; the verdict of a preset is the worst of its trials. In the order in which presets first
/// appear. Dead is what counts 0 wherever it must count; where only some trials count 0, the meaning differs.
/// What agrees is plausible if no trial excludes twice and half the count, if all stated counts are ranges,
/// or if the median of counted / stated is off by more than 0.05 % (exact counts) or 4 % (others, and those
/// whose tolerance noise widened); off by one factor
/// of 5 % or more at all points, its meaning differs. A broken relation is attributed to the presets in it
/// whose own verdict is bad; without such presets, to those that no kernel has verified; without these, to
/// all.
[[nodiscard]] std::vector<PresetVerdict> verdicts(std::span<const Trial> trials,
                                                  std::span<const Broken> relations);

/// Names the published errata of the events of a preset that does not agree. Pure.
void add_errata(PresetVerdict& verdict, std::span<const Event> events, const host::Cpu& cpu);

/// What a row with a mistake would have counted at the point of a trial.
using CountAt = std::function<std::optional<double>(const Judged&)>;
/// Whether nothing would be wrong with these counts; not where one that must count is unknown.
[[nodiscard]] bool passes(const PresetVerdict& verdict, const CountAt& count);
/// Terms without which, or with twice of which, nothing would be wrong: "X lost or doubled".
[[nodiscard]] std::vector<std::string> find_untested_terms(const PresetVerdict& verdict);

/// What agrees is plausible if nothing would be wrong without a term of its formula, with half or with twice
/// of it; the term is named.
void doubt_untested_terms(PresetVerdict& verdict);

/// Adds terms to the causes of the decisive trial: those without which (with half of which, with the other
/// sign of which) nothing would be wrong, in place of all other causes; else dead ones that would have
/// counted what is missing.
void blame_terms(PresetVerdict& verdict);

/// "stride size=4096", or the command line of a counted program.
[[nodiscard]] std::string place_text(const std::string& kernel, const result::Params& point);

/// "L1_DCM <= L1_TCM: 2000 against 1000 by papi", for people.
[[nodiscard]] std::string describe(const Broken& relation);

} // namespace recount::check
