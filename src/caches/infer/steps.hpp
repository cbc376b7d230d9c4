// The two ways of an inference, and what they share.
#pragma once

#include "caches/infer/inference.hpp"

namespace recount::caches {

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
/// A level of which nothing is known, for one reason.
[[nodiscard]] LevelFinding unknown_level(const std::string& name, const std::string& reason);

} // namespace recount::caches
