// Relations between presets, compared with the counts of one run. Pure.
#pragma once

#include "preset/view.hpp"
#include "result/observation.hpp"
#include "statistics/statistics.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace recount::check {

/// What one witness counted of several presets while one kernel was executed at one point: pass by pass, a
/// group for each process.
struct Counted {
  std::string kernel;
  result::Params point;
  std::string witness;
  std::vector<std::vector<std::map<std::string, double>>> passes; ///< values by preset
};

/// A relation that does not hold.
struct Broken {
  preset::Identity identity;
  std::string kernel, witness;
  result::Params point;
  statistics::Estimate left, right, difference; ///< left - right, pass by pass
};

/// How far the sides may differ, as a share of the larger; smaller absolute differences are not significant.
inline constexpr double invariant_tolerance = 0.05, stray_occurrences = 64;

/// Those of the relations that apply to the kind of CPU, all of whose presets were counted, and that the
/// counts contradict: the interval of the difference lies wholly outside what is allowed.
[[nodiscard]] std::vector<Broken> broken(const Counted& counted, std::span<const preset::Identity> identities,
                                         preset::CpuKind kind);

} // namespace recount::check
