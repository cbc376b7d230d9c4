// The caches of a machine from readings, each property with its evidence.
#pragma once

#include "caches/infer/findings.hpp"
#include "caches/infer/sampler.hpp"

#include <functional>
#include <string>

namespace recount::caches {

/// Called with the property under measurement: "ways of L1d".
using StageCallback = std::function<void(const std::string&)>;

/// Infers the caches from misses, time, or both; stated values are not used. Throws what the sampler throws,
/// and nothing for lack of evidence.
[[nodiscard]] Caches infer_caches(Sampler& sampler, const StageCallback& stage = {});

/// What must be known before a measurement ends: the first level, on which all others depend, the second as
/// well, or all that time can tell.
enum class Wanted { first_level, two_levels, everything };
/// Whether any of it is unknown, perhaps because of noise. Pure.
[[nodiscard]] bool needs_more_readings(const Caches& found, Wanted wanted = Wanted::first_level);

} // namespace recount::caches
