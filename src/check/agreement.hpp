// Whether perf, PAPI and the model agree on one preset at one point. Pure.
#pragma once

#include "statistics/estimate.hpp"
#include "result/observation.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::analysis {

/// What a comparison of the witnesses says, the worse the later.
enum class Verdict {
  not_counted,      ///< and why: nothing can be said
  agrees,           ///< within the stated tolerance
  unstable,         ///< the repetitions do not decide
  broken_invariant, ///< it contradicts another preset measured in the same run
  meaning_differs,  ///< perf and PAPI agree, the code does something else
  dead,             ///< 0 where the code cannot have done nothing
  mapping_differs   ///< PAPI does not give what the row of its table says
};
/// "mapping differs"
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;
/// Whether nothing is wrong: agrees or not counted.
[[nodiscard]] constexpr bool sound(Verdict verdict) noexcept {
  return verdict <= Verdict::agrees;
}

/// What one counting witness said of one preset at one point, a group for each process.
struct Said {
  Groups values; ///< what an empty region counts is taken off already
  /// What that was, by how the witnesses were nested ("inner", "outer", "apart").
  std::map<std::string, std::vector<double>> empty;
  std::string reason;      ///< why there are no values
  bool crashed = false;    ///< counting it ends the process
  bool by_row = false;     ///< no value because the row of the table has none as it is written
  std::string other_value; ///< perf's remark that PAPI computes another value from the same counts

  [[nodiscard]] bool counted() const;
};

/// What the code must do: the truth lies within [value - below, value + above].
struct Stated {
  double value = 0, below = 0, above = 0;
  std::string form; ///< how that is known
};

/// One preset at one point, as the witnesses tell it.
struct Trial {
  std::string preset; ///< or an event
  std::string metric; ///< what it is held against: the same, unless asked otherwise
  std::string kernel;
  result::Params point;
  double tolerance = 0;         ///< share of the stated value by which a sound count may differ
  std::optional<Stated> stated; ///< none: nobody knows, and `unstated` says why
  std::string unstated;
  Said perf, papi;
  Groups differences; ///< perf - papi, pass by pass
  bool apart = false; ///< each counted its own execution, since the counters do not suffice for both at once
};

/// The verdict on a trial, with its evidence.
struct Judgement {
  Verdict verdict = Verdict::not_counted;
  std::string why; ///< a clause
  std::optional<Estimate> perf, papi, difference;
  std::optional<double> factor;    ///< counted / stated, of what lies outside
  std::vector<std::string> causes; ///< likely ones, see causes.hpp
};

/// How far perf and PAPI may differ, as a share of the larger; never more than the trial's own tolerance.
inline constexpr double witness_tolerance = 0.01;

[[nodiscard]] Judgement judge(const Trial& trial);

/// By how much the counts of an empty region vary (p10 to p90, the widest nesting's): less cannot be told.
[[nodiscard]] double noise(const Said& said);
/// What an empty region counts: the median of the nesting that counts least. None where nobody looked.
[[nodiscard]] std::optional<double> bias(const Said& said);

} // namespace recount::analysis
