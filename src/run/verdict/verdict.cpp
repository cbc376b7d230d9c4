#include "run/verdict/verdict.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "count/errata/errata.hpp"
#include "run/verdict/causes_data.hpp" // made from data/causes.txt by the build

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace recount::check {

namespace {

class JudgementBuilder {
public:
  explicit JudgementBuilder(const Trial& trial) : trial_(trial) {
    out_.perf = statistics::estimate(trial.perf.values);
    out_.papi = statistics::estimate(trial.papi.values);
    out_.difference = statistics::estimate(trial.differences);
  }

  Judgement build() {
    if (unreadable() || uncounted() || dead() || mapping() || unstated()) return out_;
    meaning();
    return out_;
  }

private:
  bool end(Verdict verdict, std::string why) {
    out_.verdict = verdict;
    out_.why = std::move(why);
    return true;
  }

  /// The row has no value, or PAPI crashes: nothing to compare.
  bool unreadable() {
    if (trial_.papi.crashed) return end(Verdict::mapping_differs, trial_.papi.reason.text());
    if (trial_.perf.definition_unusable && out_.papi)
      return end(Verdict::mapping_differs,
                 fmt::format("its row has no value as written ({}), but PAPI returns {}",
                             trial_.perf.reason.text(), count_text(out_.papi->median)));
    return false;
  }

  bool uncounted() {
    if (out_.perf || out_.papi) return false;
    const std::string perf = trial_.perf.reason.text(), papi = trial_.papi.reason.text();
    if (perf == papi || papi.empty()) return end(Verdict::not_counted, perf);
    if (perf.empty()) return end(Verdict::not_counted, papi);
    return end(Verdict::not_counted, fmt::format("perf: {}; PAPI: {}", perf, papi));
  }

  bool dead() {
    if (!trial_.stated) return false;
    // No tolerance: where the code must cause at least one occurrence, 0 is wrong.
    const double least = trial_.stated->value - trial_.stated->below;
    if (least <= noise(trial_.perf) && least <= noise(trial_.papi)) return false;
    const auto zero = [](const std::optional<statistics::Estimate>& e) {
      return !e || (e->low == 0 && e->high == 0);
    };
    if (!zero(out_.perf) || !zero(out_.papi)) return false;
    return end(Verdict::dead, fmt::format("counts 0, expected {}", stated_text()));
  }

  /// Of the bias, which few repetitions do not show; none of software events, which have no noise.
  [[nodiscard]] double bias_error() const {
    constexpr double some = 4, share = 0.05;
    if (trial_.tolerance == 0 || trial_.fixed_tolerance) return 0;
    const double largest =
        std::max(std::abs(bias(trial_.perf).value_or(0)), std::abs(bias(trial_.papi).value_or(0)));
    return std::max(some, share * largest);
  }

  /// PAPI compared with the value of its table row.
  bool mapping() {
    if (!out_.perf || !out_.papi || !out_.difference) return false;
    const double larger = std::max(std::abs(out_.perf->median), std::abs(out_.papi->median));
    const double share =
        trial_.stated && !trial_.relative ? std::min(witness_tolerance, trial_.tolerance) : witness_tolerance;
    // Where only a range without tolerance is expected, stray occurrences may fall between the two readings.
    const bool range = trial_.stated && trial_.tolerance == 0;
    const double stray =
        range ? std::min({trial_.stated->below, trial_.stated->above, stray_occurrences}) : 0;
    const double limit =
        share * larger + noise(trial_.perf) + noise(trial_.papi) + std::max(stray, bias_error());
    switch (statistics::held(*out_.difference, {-limit, limit})) {
    case statistics::Held::inside: return false;
    case statistics::Held::undecided:
      // A ratio varies with its divisor: where both are far from the expected count, that is the verdict.
      if (outside() || immaterial() || widen_for_difference({-limit, limit}, share, larger)) return false;
      return end(Verdict::unstable,
                 fmt::format("the difference of perf and PAPI varies from {} to {}",
                             count_text(out_.difference->low), count_text(out_.difference->high)));
    case statistics::Held::outside:
      // Too few to tell another mapping from what one order of the witnesses adds.
      if (out_.difference->n < statistics::min_compared && immaterial()) return false;
      break;
    }
    if (out_.perf->median != 0) out_.factor = out_.papi->median / out_.perf->median;
    if (!trial_.perf.other_value.empty())
      out_.causes = {"PAPI evaluates the formula differently than written (see recount lint): " +
                     trial_.perf.other_value + ", including the bias"};
    else if (out_.papi->median == 0)
      out_.causes = {"PAPI counts in another domain, or its event is never scheduled"};
    else
      out_.causes = {"PAPI opens other events than the row lists, or uses another table"};
    return end(Verdict::mapping_differs,
               fmt::format("PAPI returns {}, its row gives {}", count_text(out_.papi->median),
                           count_text(out_.perf->median)));
  }

  bool unstated() {
    if (trial_.stated) return false;
    return end(Verdict::not_counted, "no expected count: " + trial_.unstated.text());
  }

  /// Whether both witnesses count what is expected, and their difference is small beside its range; any is
  /// where nothing must be counted.
  [[nodiscard]] bool immaterial() const {
    if (!trial_.stated) return false;
    const double width = trial_.stated->below + trial_.stated->above,
                 small = trial_.stated->value > trial_.stated->below ? 0.25 : 1;
    return std::max(std::abs(out_.difference->low), std::abs(out_.difference->high)) <= small * width &&
           statistics::held(*out_.perf, band(trial_.perf)) == statistics::Held::inside &&
           statistics::held(*out_.papi, band(trial_.papi)) == statistics::Held::inside;
  }

  /// Whether every witness counts something else than what is expected.
  [[nodiscard]] bool outside() const {
    if (!trial_.stated) return false;
    return statistics::held(*out_.perf, band(trial_.perf)) == statistics::Held::outside &&
           statistics::held(*out_.papi, band(trial_.papi)) == statistics::Held::outside;
  }

  void meaning() {
    bool all_inside = true, all_outside = true, all_near = true;
    for (const auto* const measured : {&trial_.perf, &trial_.papi}) {
      const auto& estimate = measured == &trial_.perf ? out_.perf : out_.papi;
      if (!estimate) continue;
      const statistics::Held how = statistics::held(*estimate, band(*measured));
      all_inside = all_inside && how == statistics::Held::inside;
      all_outside = all_outside && how == statistics::Held::outside;
      all_near = all_near && (how == statistics::Held::inside ||
                              widen(*estimate, band(*measured), trial_.tolerance, max_expected()));
    }
    const statistics::Estimate& counted = out_.perf ? *out_.perf : *out_.papi;
    if (all_inside || all_near)
      end(Verdict::agrees,
          fmt::format("{}, expected {}{}", count_text(counted.median), stated_text(), widened_text()));
    else if (all_outside)
      differs(counted);
    else
      end(Verdict::unstable, fmt::format("varies from {} to {} around the tolerance limit of the expected {}",
                                         count_text(counted.low), count_text(counted.high), stated_text()));
  }

  [[nodiscard]] std::string widened_text() const {
    if (!out_.widened) return {};
    return fmt::format(", within {:.1f} %: the repetitions vary too much for {:g} %", 100 * *out_.widened,
                       100 * trial_.tolerance);
  }

  [[nodiscard]] double max_expected() const {
    return std::max(std::abs(trial_.stated->value), std::abs(trial_.stated->value + trial_.stated->above));
  }

  /// Widens a tolerance, a share of `whole`, until the interval is inside; false where noise does not explain
  /// that it is not, or where too little would be excluded then.
  bool widen(const statistics::Estimate& e, const statistics::Band& allowed, double share, double whole) {
    if (trial_.fixed_tolerance || share == 0 || whole == 0) return false;
    if (e.low > allowed.high || e.high < allowed.low) return false;
    const double more = std::max(e.high - allowed.high, allowed.low - e.low) / whole;
    const double needed = std::ceil(1000 * (share + more)) / 1000; // as printed
    if (needed > std::max(widest_tolerance, share + widest_tolerance / 2)) return false;
    out_.widened = std::max({needed, out_.widened.value_or(0), trial_.tolerance});
    return true;
  }

  /// The same for perf - PAPI, where both vary: a difference in some repetitions alone is no noise of counts.
  bool widen_for_difference(const statistics::Band& allowed, double share, double whole) {
    constexpr double part = 0.1;
    const auto width = [](const statistics::Estimate& e) { return e.high - e.low; };
    return width(*out_.perf) > part * width(*out_.difference) &&
           width(*out_.papi) > part * width(*out_.difference) &&
           widen(*out_.difference, allowed, share, whole);
  }

  void differs(const statistics::Estimate& counted) {
    const Stated& stated = *trial_.stated;
    const double nearest =
        counted.median > stated.value ? stated.value + stated.above : stated.value - stated.below;
    if (nearest == 0) {
      end(Verdict::meaning_differs, fmt::format("counts {}, expected 0", count_text(counted.median)));
      return;
    }
    out_.factor = counted.median / nearest;
    end(Verdict::meaning_differs, fmt::format("counts {}, {} the expected {}", count_text(counted.median),
                                              relative_text(*out_.factor), stated_text()));
  }

  [[nodiscard]] statistics::Band band(const Measurement& measured) const {
    const auto [low, high] = *accepted(trial_);
    const double stray = std::max(noise(measured), bias_error());
    // Nothing was counted, less the bias: none is expected to be fewer.
    double none = 0;
    for (const auto& [nesting, counts] : measured.empty)
      if (low == 0 && !counts.empty()) none = std::max(none, std::ranges::max(counts));
    return {low - std::max(stray, none), high + stray};
  }

  [[nodiscard]] std::string stated_text() const {
    const Stated& s = *trial_.stated;
    if (s.below + s.above == 0) return count_text(s.value);
    return fmt::format("{} to {}", count_text(s.value - s.below), count_text(s.value + s.above));
  }

  const Trial& trial_;
  Judgement out_;
};

} // namespace

std::string_view name_of(Verdict verdict) noexcept {
  constexpr std::string_view names[] = {"not counted",     "agrees",   "perf agrees",
                                        "plausible",       "unstable", "broken invariant",
                                        "meaning differs", "dead",     "mapping differs"};
  return names[static_cast<std::size_t>(verdict)];
}

bool Measurement::counted() const {
  return std::ranges::any_of(values, [](const auto& group) { return !group.empty(); });
}

double noise(const Measurement& measured) {
  double widest = 0;
  for (const auto& [nesting, counts] : measured.empty)
    if (!counts.empty())
      widest = std::max(widest, statistics::quantile(counts, 0.9) - statistics::quantile(counts, 0.1));
  return widest;
}

std::optional<double> bias(const Measurement& measured) {
  std::optional<double> least;
  for (const auto& [nesting, counts] : measured.empty) {
    if (counts.empty()) continue;
    const double middle = statistics::median(counts);
    least = std::min(least.value_or(middle), middle);
  }
  return least;
}

std::string count_text(double value) {
  if (std::abs(value) < 1e12 && (std::floor(value) == value || std::abs(value) >= 1000))
    return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string relative_text(double factor) {
  constexpr double near = 0.1;
  if (std::abs(factor - 1) >= near) return fmt::format("{:.3g} times", factor);
  return fmt::format("{:.2g} % {} than", 100 * std::abs(factor - 1), factor > 1 ? "more" : "less");
}

Judgement judge(const Trial& trial) {
  return JudgementBuilder(trial).build();
}

std::optional<statistics::Band> accepted(const Trial& trial) {
  if (!trial.stated) return {};
  const Stated& s = *trial.stated;
  const double margin = trial.tolerance * std::abs(s.value);
  return statistics::Band{s.value - s.below - margin, s.value + s.above + margin};
}

bool tight(const Trial& trial) {
  const auto within = accepted(trial);
  if (!within || trial.relative) return false;
  const double value = trial.stated->value;
  return value > 0 && within->high < 2 * value && within->low > value / 2;
}

bool must_count(const Trial& trial) {
  return trial.stated && trial.stated->value - trial.stated->below > 0;
}

namespace {

/// A row of data/causes.txt.
struct Cause {
  std::vector<std::string> presets;      ///< patterns of names without "PAPI_"
  std::vector<statistics::Band> factors; ///< counted / expected
  std::string text;
};

const std::vector<Cause>& causes() {
  static const std::vector<Cause> built_in = [] {
    std::vector<Cause> all;
    for (const auto& [where, cells] : base::data_rows(causes_data, "causes.txt")) {
      Cause& cause = all.emplace_back(Cause{base::words(cells.at(0)), {}, std::string(cells.at(2))});
      for (const std::string_view word : base::words(cells.at(1))) {
        const auto dots = word.find("..");
        cause.factors.push_back({base::parse<double>(word.substr(0, dots)).value(),
                                 base::parse<double>(word.substr(dots + 2)).value()});
      }
    }
    return all;
  }();
  return built_in;
}

/// A pattern without a wildcard is a whole name.
bool names(const std::string& pattern, const std::string& preset) {
  const base::Pattern glob(pattern);
  return glob.glob() ? glob.matches(preset) : pattern == preset;
}

} // namespace

std::vector<std::string> likely_causes(const std::string& preset, const std::vector<double>& factors) {
  constexpr int most = 2;
  const std::string name = is_preset(preset) ? preset.substr(preset_prefix.size()) : preset;
  const auto fits = [&](const Cause& cause) {
    const auto explained = [&](double factor) {
      return std::ranges::any_of(cause.factors,
                                 [&](const auto& band) { return band.low <= factor && factor <= band.high; });
    };
    return std::ranges::all_of(factors, explained) &&
           std::ranges::any_of(cause.presets, [&](const auto& pattern) { return names(pattern, name); });
  };
  return causes() | ranges::views::filter(fits) | ranges::views::transform(&Cause::text) |
         ranges::views::take(most) | ranges::to<std::vector>();
}

namespace {

/// The sum of presets in one pass; nothing where one of them was not counted.
std::optional<double> sum_in(const std::map<std::string, double>& pass,
                             const std::vector<std::string>& presets) {
  double total = 0;
  for (const auto& preset : presets) {
    const auto found = pass.find(preset);
    if (found == pass.end()) return {};
    total += found->second;
  }
  return total;
}

/// `value(left, right)` over all passes in which each preset of the relation was counted, by process.
template <class Value>
statistics::Groups collect(const Counted& counted, const preset::Identity& identity, const Value& value) {
  statistics::Groups groups;
  for (const auto& process : counted.passes) {
    auto& values = groups.emplace_back();
    for (const auto& pass : process)
      if (const auto left = sum_in(pass, identity.left), right = sum_in(pass, identity.right); left && right)
        values.push_back(value(*left, *right));
  }
  return groups;
}

/// Without an interval, which nothing needs of a side.
statistics::Estimate median_alone(const statistics::Groups& groups) {
  std::vector<double> all;
  for (const auto& group : groups)
    all.insert(all.end(), group.begin(), group.end());
  const double median = statistics::median(all);
  return {median, median, median, all.size(), 0};
}

/// Whether it is a relation of "PAPI_L2_DCM" and its like; names of native events are no presets.
bool of_caches(const preset::Identity& identity) {
  const auto names = identity.presets();
  return std::ranges::any_of(names, [](const std::string& name) {
    return name.starts_with("PAPI_L1_") || name.starts_with("PAPI_L2_") || name.starts_with("PAPI_L3_");
  });
}

/// The most that a preset of requests beyond L1 counted in any pass here: prefetches are a share of them.
double requests_beyond_l1(const Counted& counted) {
  constexpr std::array beyond{"PAPI_L1_DCM", "PAPI_L1_LDM", "PAPI_L1_STM",
                              "PAPI_L1_TCM", "PAPI_L2_",    "PAPI_L3_"};
  double most = 0;
  for (const auto& process : counted.passes)
    for (const auto& pass : process)
      for (const auto& [preset, value] : pass)
        if (std::ranges::any_of(beyond, [&](const char* name) { return preset.starts_with(name); }))
          most = std::max(most, value);
  return most;
}

/// Software prefetches miss without being loads, stores or demand reads: no relation between these holds
/// there.
bool prefetches(const result::Params& point) {
  return result::word(point, "operation") == "prefetch";
}

} // namespace

std::optional<Tested> test_relation(const Counted& counted, const preset::Identity& identity,
                                    const Tolerance& tolerance) {
  if (prefetches(counted.point)) return {};
  const auto difference = statistics::estimate(collect(counted, identity, std::minus<>()));
  if (!difference) return {};
  const auto left = median_alone(collect(counted, identity, [](double l, double) { return l; })),
             right = median_alone(collect(counted, identity, [](double, double r) { return r; }));
  const double larger = std::max(std::abs(left.median), std::abs(right.median));
  double margin = std::max(tolerance.share * larger, stray_occurrences);
  if (tolerance.of_caches > 0 && of_caches(identity))
    margin = std::max(margin, tolerance.of_caches * std::max(larger, requests_beyond_l1(counted)));
  margin += tolerance.error;
  const statistics::Band allowed{identity.at_most ? -std::numeric_limits<double>::infinity() : -margin,
                                 margin};
  return Tested{{identity, counted.kernel, counted.witness, counted.point, left, right, *difference},
                margin,
                statistics::held(*difference, allowed)};
}

std::vector<Broken> broken(const Counted& counted, std::span<const preset::Identity> identities,
                           preset::CpuKind kind) {
  std::vector<Broken> found;
  for (const auto& identity : identities)
    if (identity.applies_to(kind))
      if (auto tested = test_relation(counted, identity, {});
          tested && tested->held == statistics::Held::outside)
        found.push_back(std::move(*tested));
  return found;
}

std::string place_text(const std::string& kernel, const result::Params& point) {
  if (kernel == command_kernel) return result::word(point, "command");
  return point.empty() ? kernel : kernel + " " + result::describe(point);
}

namespace {

PresetVerdict& of_preset(std::vector<PresetVerdict>& all, const std::string& preset) {
  const auto found = std::ranges::find(all, preset, &PresetVerdict::preset);
  if (found != all.end()) return *found;
  all.emplace_back().preset = preset;
  return all.back();
}

/// The presets that a broken relation is attributed to.
std::vector<PresetVerdict*> responsible(std::vector<PresetVerdict>& all, const Broken& relation) {
  std::vector<PresetVerdict*> members, bad, unproven;
  for (const auto& name : relation.identity.presets()) {
    PresetVerdict* const member = &of_preset(all, name);
    if (std::ranges::find(members, member) != members.end()) continue;
    members.push_back(member);
    if (!sound(member->verdict)) bad.push_back(member);
    if (member->verdict == Verdict::not_counted) unproven.push_back(member);
  }
  return !bad.empty() ? bad : !unproven.empty() ? unproven : members;
}

void apply(const Broken& relation, PresetVerdict& preset) {
  preset.broken.push_back(relation);
  if (preset.verdict >= Verdict::broken_invariant) return;
  preset.verdict = Verdict::broken_invariant;
  preset.why = describe(relation);
}

bool counts(const Judgement& j) {
  const auto& counted = j.perf ? j.perf : j.papi;
  return counted && counted->median != 0;
}

/// Dead in some places only: a part of what it should count is missing.
void find_missing_part(PresetVerdict& preset) {
  if (preset.verdict != Verdict::dead) return;
  const auto live = std::ranges::find_if(
      preset.trials, [](const Judged& j) { return must_count(j.trial) && counts(j.judgement); });
  if (live == preset.trials.end()) return;
  const bool right = sound(live->judgement.verdict);
  const auto& dead = preset.trials.front();
  preset.why =
      fmt::format("misses a part: 0 in {}, {} in {}", place_text(dead.trial.kernel, dead.trial.point),
                  right ? "right" : "not 0", place_text(live->trial.kernel, live->trial.point));
  preset.verdict = Verdict::meaning_differs;
  for (Judged& j : preset.trials)
    if (j.judgement.verdict == Verdict::dead) j.judgement.verdict = Verdict::meaning_differs;
}

/// Adds the likely causes that explain the count at every wrong point.
void add_causes(PresetVerdict& preset) {
  std::vector<double> factors;
  for (const Judged& j : preset.trials)
    if (j.judgement.verdict == Verdict::meaning_differs && j.judgement.factor)
      factors.push_back(*j.judgement.factor);
  auto& [trial, judgement] = preset.trials.front();
  if (!factors.empty() && judgement.verdict == Verdict::meaning_differs)
    judgement.causes = likely_causes(trial.metric, factors);
}

/// By how much exact counts may differ in the median of all points.
constexpr double exact_share = 0.0005;

/// Counted / stated, and by how much a few stray occurrences and noise may change it.
struct Ratio {
  double value = 1, resolution = 0;
  [[nodiscard]] bool fine() const { return resolution <= exact_share / 2; }
};

/// 1 within the stated range or a few stray occurrences of it. None where the range is too wide to tell small
/// factors.
std::optional<Ratio> ratio(const Judged& j) {
  constexpr double narrow = 0.25, stray = 4;
  const auto& counted = j.judgement.perf ? j.judgement.perf : j.judgement.papi;
  if (j.trial.relative || !must_count(j.trial) || !counted) return {};
  const Stated& s = *j.trial.stated;
  if (s.below + s.above > narrow * s.value) return {};
  const double near = std::clamp(counted->median, s.value - s.below, s.value + s.above);
  const double margin = stray + noise(j.trial.perf) + noise(j.trial.papi) + counted->chance;
  return Ratio{std::abs(counted->median - near) <= margin ? 1 : counted->median / near,
               (margin + std::max(s.below, s.above)) / near};
}

/// By which factor the counts of all points differ from the stated ones. Tolerances allow for prefetchers,
/// other threads and walks, which differ between points; a wrong unit or scale is the same at all of them.
struct CommonFactor {
  double median = 1;
  bool exact = false; ///< from points without such influences, where there are some
  std::vector<Ratio> ratios;
  std::size_t points = 0; ///< behind the median
  /// Whether all points that resolve such a factor have it: three at least.
  [[nodiscard]] bool everywhere() const {
    constexpr std::size_t enough = 3;
    constexpr double same = 0.1;
    const double off = std::abs(median - 1);
    std::size_t resolved = 0;
    for (const Ratio& one : ratios) {
      if (one.resolution > off / 2) continue;
      if (std::abs(one.value - median) > same * off + one.resolution) return false;
      ++resolved;
    }
    return resolved >= enough;
  }
};
std::optional<CommonFactor> common_factor(const PresetVerdict& preset) {
  constexpr double exact = 0.01;
  std::vector<Ratio> all, undisturbed;
  for (const Judged& j : preset.trials)
    if (const auto here = ratio(j)) {
      all.push_back(*here);
      if (j.trial.tolerance <= exact) undisturbed.push_back(*here);
    }
  CommonFactor factor;
  factor.exact = !undisturbed.empty();
  factor.ratios = factor.exact ? undisturbed : all;
  if (factor.ratios.empty()) return {};
  // Small counts, of which a few stray occurrences are a larger share, would hide it.
  std::vector<double> fine, any;
  for (const Ratio& one : factor.ratios) {
    any.push_back(one.value);
    if (factor.exact && one.fine()) fine.push_back(one.value);
  }
  const auto& telling = fine.empty() ? any : fine;
  factor.median = statistics::median(telling);
  factor.points = telling.size();
  return factor;
}

/// What agrees by bounds only, or is off by the same factor everywhere.
void limit_confidence(PresetVerdict& preset) {
  if (preset.verdict != Verdict::agrees) return;
  const auto any_agreed = [&](const auto& is) {
    return std::ranges::any_of(preset.trials, [&](const Judged& j) {
      return j.judgement.verdict == Verdict::agrees && is(j.trial);
    });
  };
  if (!any_agreed([](const Trial& t) { return accepted(t)->high > 0; })) return; // only zeros are expected
  const auto doubt = [&](std::string why) {
    preset.verdict = Verdict::plausible;
    preset.why += "; " + std::move(why);
  };
  if (!any_agreed(must_count)) return doubt("counted only where the expected count is about 0");
  if (!any_agreed(tight)) return doubt("no kernel excludes twice or half the count");
  const auto factor = common_factor(preset);
  if (!factor) return doubt("expected within a range, which does not exclude small factors");
  constexpr double close = 0.04; // wrong beyond
  constexpr double clear = 0.05; // fewer than this cannot be for prefetches, which only add
  const double off = std::abs(factor->median - 1);
  if (off <= (factor->exact ? exact_share : close)) return;
  doubt(fmt::format("{} the expected count in the median of {} points", relative_text(factor->median),
                    factor->points));
  if ((factor->exact || factor->median <= 1 - clear) && factor->everywhere())
    preset.verdict = Verdict::meaning_differs;
}

/// Where PAPI counts nothing, only perf agrees.
void require_papi(PresetVerdict& preset) {
  if (preset.verdict != Verdict::agrees || counted_by_papi(preset)) return;
  preset.verdict = Verdict::perf_agrees;
  const std::string reason = preset.trials.front().trial.papi.reason.text();
  preset.why += "; PAPI does not count it here" + (reason.empty() ? "" : ": " + reason);
}

} // namespace

bool counted_by_papi(const PresetVerdict& verdict) {
  return std::ranges::any_of(verdict.trials, [](const Judged& j) { return j.judgement.papi.has_value(); });
}

void add_errata(PresetVerdict& verdict, std::span<const Event> events, const host::Cpu& cpu) {
  if (sound(verdict.verdict)) return;
  for (const Event& event : events)
    for (const auto* const erratum : errata::of_event(event, cpu))
      if (std::string text = event.name + ": " + erratum->sentence();
          std::ranges::find(verdict.errata, text) == verdict.errata.end())
        verdict.errata.push_back(std::move(text));
}

std::vector<PresetVerdict> verdicts(std::span<const Trial> trials, std::span<const Broken> relations) {
  std::vector<PresetVerdict> all;
  for (const Trial& trial : trials) {
    Judged& judged = of_preset(all, trial.preset).trials.emplace_back(Judged{trial, judge(trial)});
    judged.trial.tolerance = judged.judgement.widened.value_or(trial.tolerance);
  }
  for (PresetVerdict& preset : all) {
    std::ranges::stable_sort(preset.trials, std::greater{},
                             [](const Judged& j) { return j.judgement.verdict; });
    preset.verdict = preset.trials.front().judgement.verdict;
    preset.why = preset.trials.front().judgement.why;
    add_causes(preset);
    find_missing_part(preset);
    limit_confidence(preset);
    require_papi(preset);
  }
  // Presets that occur in relations only are added first, so that the pointers below stay valid.
  for (const Broken& relation : relations)
    for (const auto& name : relation.identity.presets())
      of_preset(all, name);
  std::vector<std::pair<const Broken*, PresetVerdict*>> attributed; // before a relation changes a verdict
  for (const Broken& relation : relations)
    for (PresetVerdict* const preset : responsible(all, relation))
      attributed.emplace_back(&relation, preset);
  for (const auto& [relation, preset] : attributed)
    apply(*relation, *preset);
  std::erase_if(all, [](const auto& preset) { return preset.trials.empty() && preset.broken.empty(); });
  return all;
}

std::string describe(const Broken& relation) {
  return fmt::format("{} does not hold: {:.6g} against {:.6g} by {} in {}", relation.identity.text,
                     relation.left.median, relation.right.median, relation.witness, relation.kernel);
}

} // namespace recount::check
