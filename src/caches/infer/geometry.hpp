// Capacity, line and ways of one level where addresses choose the sets.
#pragma once

#include "caches/infer/gauge.hpp"
#include "caches/infer/pairs.hpp"
#include "caches/infer/shapes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::analysis {

/// What was found out of one level, step by step.
struct Geometry {
  Boundary onset; ///< bytes of the largest dense working set that stays and the smallest that leaves
  std::int64_t onset_stride = 0;            ///< of that working set
  bool onset_hidden = false;                ///< the level above holds some of it: the capacity may be smaller
  std::vector<PairPoint> pairs;             ///< by rising distance
  std::optional<std::int64_t> line;         ///< bytes
  std::string line_unknown;                 ///< why it is not known
  bool prefetch_seen = false;               ///< the next line came along when lines were touched upwards
  std::vector<Conflict> conflicts;          ///< those that count as evidence
  bool inclusive = false;                   ///< seen to take its lines back from the levels above
  std::vector<std::int64_t> disturbed;      ///< strides left out because the level below showed through
  std::vector<Shape> shapes;                ///< what agrees with all evidence
  bool outlier = false;                     ///< one conflict disagrees and was taken for noise
  bool fillers_used = false;                ///< lines beside the counted ones told the last shapes apart
  std::optional<std::int64_t> shifted_line; ///< second route: how far lines of one set may be shifted
  std::string unknown;                      ///< why capacity and ways are not known; empty: they are
};

/// How the levels around show.
struct Neighbours {
  Gauge* above = nullptr; ///< of the next level towards the core
  Gauge* below = nullptr;
  Inner inner;
  std::int64_t capacity_above = 0; ///< bytes
  std::int64_t line_above = 16;    ///< a stride that no line is shorter than
};

/// Never throws for want of evidence: what is missing is told in the members.
[[nodiscard]] Geometry find_geometry(Notebook& notebook, Gauge& gauge, const Neighbours& around);

} // namespace recount::analysis
