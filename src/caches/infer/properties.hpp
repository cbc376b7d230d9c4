// Properties of a level, with evidence, from its geometry.
#pragma once

#include "caches/infer/inference.hpp"

namespace recount::caches {

[[nodiscard]] std::vector<TlbFinding> tlb_findings(const Translation& translation, bool exact);
/// By time, where it was not measured what as many lines in half as many pages cost: takes the entries back
/// of those beyond the first that are as many as the first cache has lines or sets. One line per page and
/// adjacent lines then cost different times in the cache.
void doubt_tlbs(std::vector<TlbFinding>& tlbs, const Translation& translation, const LevelFinding& first);
/// The source of the readings of a level, and the name of a miss in it.
struct Witnessed {
  CachedSampler& cached;
  Gauge& gauge;
  std::string level;    ///< "L1d"
  std::string quantity; ///< "L1d misses per access"
  bool exact = false;
};

/// capacity, line and ways from a geometry, in place.
void fill_from_geometry(LevelFinding& level, const Witnessed& by);

/// A property without a value.
[[nodiscard]] Property unknown_property(const std::string& name, const std::string& unit,
                                        const std::string& reason);
/// A time with its argument.
[[nodiscard]] Property time_property(const std::string& name, double ns, Confidence confidence,
                                     std::vector<std::string> words);

/// A probability that may be too small to be told: "0.0012", "below 0.0001".
[[nodiscard]] std::string rare_text(double probability);

} // namespace recount::caches
