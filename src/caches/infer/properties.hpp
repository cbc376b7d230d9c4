// Properties of a level, with evidence, from its geometry.
#pragma once

#include "caches/infer/inference.hpp"

namespace recount::caches {

/// Measurements just beyond L2.
struct BeyondSecond {
  double hit = 0;                ///< ns; 0: nothing was
  std::int64_t from = 0, to = 0; ///< bytes of the working sets that show it
};

/// Adds the part of the last level that this machine has, and the latency of memory.
void add_outer_levels(Caches& found, const BeyondSecond& beyond);

/// "L1d" for 0, "L2" for 1 ...
[[nodiscard]] std::string level_name(std::size_t level);

/// "L1d misses per access (PAPI_L1_DCM)".
[[nodiscard]] std::string measure_by_counts(std::size_t level);
/// What the counted events mean, for people.
[[nodiscard]] std::string meaning_of_counts(const Abilities& can);

/// From misses of every level, where addresses choose the sets.
void infer_by_counts(Caches& found, CachedSampler& cached, const StageCallback& stage);
/// From times, and for the first levels from misses where they are counted, where pages lie anywhere.
void infer_by_time(Caches& found, CachedSampler& cached, Sampler& sampler, const StageCallback& stage);

[[nodiscard]] std::vector<TlbFinding> tlb_findings(const Translation& translation, bool exact);
/// By time, where it was not measured what as many lines in half as many pages cost: takes the entries back
/// of those beyond the first that are as many as the first cache has lines or sets. One line per page and
/// adjacent lines then cost different times in the cache.
void doubt_tlbs(std::vector<TlbFinding>& tlbs, const Translation& translation, const LevelFinding& first);
/// A level of which nothing is known, for one reason.
[[nodiscard]] LevelFinding unknown_level(const std::string& name, const std::string& reason);

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

/// "48 KiB (768 lines)".
[[nodiscard]] std::string working_set_text(std::int64_t bytes, std::int64_t line);

} // namespace recount::caches
