// Capacity, line and ways of one level where addresses choose the sets.
#pragma once

#include "caches/infer/gauge.hpp"
#include "caches/infer/pairs.hpp"
#include "caches/infer/shapes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// The geometry of one level, with the readings behind it.
struct Geometry {
  Boundary onset; ///< bytes of the largest dense working set that fits and the smallest that does not
  std::int64_t onset_stride = 0;            ///< of that working set
  bool onset_hidden = false;                ///< the level above holds some of it: the capacity may be smaller
  std::vector<PairPoint> pairs;             ///< by rising distance
  std::optional<std::int64_t> line;         ///< bytes
  std::string line_unknown;                 ///< why it is not known
  bool prefetch_seen = false;               ///< the next line came along when lines were touched upwards
  std::vector<Conflict> conflicts;          ///< those that count as evidence
  bool inclusive = false;                   ///< evictions invalidate its lines in the levels above
  std::vector<std::int64_t> disturbed;      ///< strides excluded because the level below affected them
  std::vector<Shape> shapes;                ///< consistent with all evidence
  bool outlier = false;                     ///< one conflict disagrees and was treated as noise
  bool fillers_used = false;                ///< lines besides the counted ones distinguished the last shapes
  std::optional<std::int64_t> shifted_line; ///< second route: how far lines of one set may be shifted
  std::string unknown;                      ///< why capacity and ways are not known; empty: they are
  // Of a geometry by time only.
  bool line_by_shift = false; ///< the line is the second route's alone
  double probability = 0;     ///< of the shape, given the readings of all strides; 0: not estimated
};

/// The levels above and below.
struct Neighbours {
  Gauge* above = nullptr; ///< of the next level towards the core
  Gauge* below = nullptr;
  Inner inner;
  std::int64_t capacity_above = 0; ///< bytes
  std::int64_t line_above = 16;    ///< a stride that no line is shorter than
};

/// Never throws for lack of evidence: the members give the reasons.
[[nodiscard]] Geometry find_geometry(CachedSampler& cached, Gauge& gauge, const Neighbours& around);

} // namespace recount::caches
