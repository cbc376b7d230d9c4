#include "check/agreement.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "check/causes_data.hpp" // made from data/causes.txt by the build
#include "statistics/statistics.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace recount::check {
namespace {

/// A count as text, without decimals where it is whole.
std::string count_text(double value) {
  return std::abs(value) < 1e15 && value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

class Judge {
public:
  explicit Judge(const Trial& trial) : trial_(trial) {
    out_.perf = statistics::estimate(trial.perf.values);
    out_.papi = statistics::estimate(trial.papi.values);
    out_.difference = statistics::estimate(trial.differences);
  }

  Judgement run() {
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
    if (trial_.papi.crashed) return end(Verdict::mapping_differs, trial_.papi.reason);
    if (trial_.perf.by_row && out_.papi)
      return end(Verdict::mapping_differs,
                 fmt::format("its row has no value as written ({}), but PAPI returns {}", trial_.perf.reason,
                             count_text(out_.papi->median)));
    return false;
  }

  bool uncounted() {
    if (out_.perf || out_.papi) return false;
    const std::string &perf = trial_.perf.reason, &papi = trial_.papi.reason;
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

  /// PAPI compared with the value of its table row.
  bool mapping() {
    if (!out_.perf || !out_.papi || !out_.difference) return false;
    const double larger = std::max(std::abs(out_.perf->median), std::abs(out_.papi->median));
    const double share = trial_.stated ? std::min(witness_tolerance, trial_.tolerance) : witness_tolerance;
    // Where only a range without tolerance is expected, stray occurrences may fall between the two readings.
    const bool range = trial_.stated && trial_.tolerance == 0;
    const double stray =
        range ? std::min({trial_.stated->below, trial_.stated->above, stray_occurrences}) : 0;
    const double limit = share * larger + noise(trial_.perf) + noise(trial_.papi) + stray;
    switch (statistics::held(*out_.difference, {-limit, limit})) {
    case statistics::Held::inside: return false;
    case statistics::Held::undecided:
      // A ratio varies with its divisor: where both are far from the expected count, that is the verdict.
      if (outside()) return false;
      return end(Verdict::unstable,
                 fmt::format("the difference of perf and PAPI varies from {} to {}",
                             count_text(out_.difference->low), count_text(out_.difference->high)));
    case statistics::Held::outside: break;
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
    return end(Verdict::not_counted, "no expected count: " + trial_.unstated);
  }

  /// Whether every witness counts something else than what is expected.
  [[nodiscard]] bool outside() const {
    if (!trial_.stated) return false;
    return statistics::held(*out_.perf, band(trial_.perf)) == statistics::Held::outside &&
           statistics::held(*out_.papi, band(trial_.papi)) == statistics::Held::outside;
  }

  void meaning() {
    bool all_inside = true, all_outside = true;
    for (const auto* const measured : {&trial_.perf, &trial_.papi}) {
      const auto& estimate = measured == &trial_.perf ? out_.perf : out_.papi;
      if (!estimate) continue;
      const statistics::Held how = statistics::held(*estimate, band(*measured));
      all_inside = all_inside && how == statistics::Held::inside;
      all_outside = all_outside && how == statistics::Held::outside;
    }
    const statistics::Estimate& counted = out_.perf ? *out_.perf : *out_.papi;
    if (all_inside)
      end(Verdict::agrees, fmt::format("{}, expected {}", count_text(counted.median), stated_text()));
    else if (all_outside)
      differs(counted);
    else
      end(Verdict::unstable, fmt::format("varies from {} to {} around the tolerance limit of the expected {}",
                                         count_text(counted.low), count_text(counted.high), stated_text()));
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
    out_.causes = likely_causes(trial_.metric, *out_.factor);
    end(Verdict::meaning_differs, fmt::format("counts {}, {} the expected {}", count_text(counted.median),
                                              relative_text(*out_.factor), stated_text()));
  }

  [[nodiscard]] statistics::Band band(const Measurement& measured) const {
    const statistics::Band within = *accepted(trial_);
    return {within.low - noise(measured), within.high + noise(measured)};
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
  constexpr std::string_view names[] = {"not counted", "agrees",           "plausible",
                                        "unstable",    "broken invariant", "meaning differs",
                                        "dead",        "mapping differs"};
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

std::string relative_text(double factor) {
  constexpr double near = 0.1;
  if (std::abs(factor - 1) >= near) return fmt::format("{:.3g} times", factor);
  return fmt::format("{:.2g} % {} than", 100 * std::abs(factor - 1), factor > 1 ? "more" : "less");
}

Judgement judge(const Trial& trial) {
  return Judge(trial).run();
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

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : base::split(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

Error malformed(const std::string& where, const std::string& why) {
  return bad_input(where, why, "write PRESETS | LOW..HIGH | CAUSE");
}

double factor_in(std::string_view text, const std::string& where) {
  const auto value = base::parse<double>(text);
  if (!value) throw malformed(where, "not a number: '" + std::string(text) + "'");
  return *value;
}

statistics::Band factors_in(const std::string& word, const std::string& where) {
  const std::size_t dots = word.find("..");
  if (dots == word.npos) throw malformed(where, "not a range of factors: '" + word + "'");
  const statistics::Band band{factor_in(std::string_view(word).substr(0, dots), where),
                              factor_in(std::string_view(word).substr(dots + 2), where)};
  if (!(band.low <= band.high)) throw malformed(where, "the range '" + word + "' is empty");
  return band;
}

Cause cause_in(std::string_view line, const std::string& where) {
  const auto columns = base::split(line, '|');
  if (columns.size() != 3) throw malformed(where, "three columns, separated by |, are required");
  Cause cause{words_of(columns[0]), {}, std::string(base::trim(columns[2]))};
  for (const auto& word : words_of(columns[1]))
    cause.factors.push_back(factors_in(word, where));
  if (cause.presets.empty() || cause.factors.empty() || cause.text.empty())
    throw malformed(where, "a column is empty");
  return cause;
}

/// A pattern without a wildcard is a whole name.
bool names(const std::string& pattern, const std::string& preset) {
  const base::Pattern glob(pattern);
  return glob.glob() ? glob.matches(preset) : pattern == preset;
}

} // namespace

std::vector<Cause> parse_causes(std::string_view text, const std::string& file) {
  std::vector<Cause> all;
  int number = 0;
  for (const auto raw : base::split(text, '\n')) {
    ++number;
    const auto line = base::trim(raw);
    if (line.empty() || line.front() == '#') continue;
    all.push_back(cause_in(line, file + ":" + std::to_string(number)));
  }
  return all;
}

const std::vector<Cause>& causes() {
  static const std::vector<Cause> built_in = parse_causes(causes_data, "causes.txt");
  return built_in;
}

std::vector<std::string> likely_causes(const std::string& preset, double factor,
                                       const std::vector<Cause>& all) {
  constexpr std::size_t most = 2;
  const std::string name = is_preset(preset) ? preset.substr(5) : preset;
  std::vector<std::string> likely;
  for (const Cause& cause : all) {
    const bool fits = std::ranges::any_of(cause.factors, [&](const statistics::Band& band) {
      return band.low <= factor && factor <= band.high;
    });
    if (fits && std::ranges::any_of(cause.presets, [&](const auto& p) { return names(p, name); }) &&
        likely.size() < most)
      likely.push_back(cause.text);
  }
  return likely;
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

/// Both sides of a relation, over all passes in which each of its presets was counted.
struct Sides {
  statistics::Groups left, right, difference;
};

Sides sides_of(const Counted& counted, const preset::Identity& identity) {
  Sides sides;
  for (const auto& process : counted.passes) {
    std::vector<double> left, right, difference;
    for (const auto& pass : process) {
      const auto l = sum_in(pass, identity.left), r = sum_in(pass, identity.right);
      if (!l || !r) continue;
      left.push_back(*l);
      right.push_back(*r);
      difference.push_back(*l - *r);
    }
    sides.left.push_back(std::move(left));
    sides.right.push_back(std::move(right));
    sides.difference.push_back(std::move(difference));
  }
  return sides;
}

/// Software prefetches miss without being loads, stores or demand reads: no relation between these holds
/// there.
bool prefetches(const result::Params& point) {
  const auto operation = point.find("operation");
  return operation != point.end() && operation->second == result::ParamValue(std::string("prefetch"));
}

} // namespace

std::vector<Broken> broken(const Counted& counted, std::span<const preset::Identity> identities,
                           preset::CpuKind kind) {
  std::vector<Broken> found;
  if (prefetches(counted.point)) return found;
  for (const auto& identity : identities) {
    if (identity.kind != preset::CpuKind::any && identity.kind != kind) continue;
    const Sides sides = sides_of(counted, identity);
    const auto left = statistics::estimate(sides.left), right = statistics::estimate(sides.right),
               difference = statistics::estimate(sides.difference);
    if (!left || !right || !difference) continue;
    const double larger = std::max(std::abs(left->median), std::abs(right->median));
    const double margin = std::max(invariant_tolerance * larger, stray_occurrences);
    const statistics::Band allowed{identity.at_most ? -std::numeric_limits<double>::infinity() : -margin,
                                   margin};
    if (statistics::held(*difference, allowed) == statistics::Held::outside)
      found.push_back({identity, counted.kernel, counted.witness, counted.point, *left, *right, *difference});
  }
  return found;
}

} // namespace recount::check
