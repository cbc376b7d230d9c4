// Caches the readings of a sampler.
#pragma once

#include "caches/infer/sampler.hpp"

#include <map>
#include <span>
#include <vector>

namespace recount::caches {

/// Requests each pattern from the sampler once. Not thread-safe.
class CachedSampler {
public:
  explicit CachedSampler(Sampler& sampler) : sampler_(sampler) {}
  [[nodiscard]] const Abilities& abilities() const { return sampler_.abilities(); }
  /// The readings, in order; missing ones are requested from the sampler together.
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns);
  Reading read(const kernel::Pattern& pattern) { return read(std::span(&pattern, 1)).front(); }
  /// All readings so far.
  [[nodiscard]] const std::map<kernel::Pattern, Reading>& taken() const { return taken_; }

private:
  Sampler& sampler_;
  std::map<kernel::Pattern, Reading> taken_;
};

/// Why a property cannot be determined; thrown within an inference and caught where the property is made.
struct Unknown {
  std::string reason; ///< a clause
};

/// The time of a reading; throws Unknown with the reason of the reading, or `otherwise`.
[[nodiscard]] double time_of(const Reading& reading, const char* otherwise);

} // namespace recount::caches
