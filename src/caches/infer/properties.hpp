// Properties of a level, with evidence, from its geometry.
#pragma once

#include "caches/infer/inference.hpp"

namespace recount::caches {

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

/// "48 KiB (768 lines)".
[[nodiscard]] std::string working_set_text(std::int64_t bytes, std::int64_t line);

} // namespace recount::caches
