// Placement of curve labels: next to their curve, without overlap. Pure geometry, y upwards.
#pragma once

#include "plot/geometry.hpp"

#include <optional>
#include <vector>

namespace recount::plot {

/// A curve and the size of the label it wants.
struct Labelled {
  std::vector<Vec> line;
  double width = 0, height = 0;
  bool named = true; ///< false: it wants none
  int group = 0;     ///< curves of one group (not 0) may stand for one another: a label may be taken for any
};

/// What is there already.
struct Field {
  Box area;               ///< labels stay inside
  std::vector<Box> taken; ///< labels stay off
  double marker = 2;      ///< radius of the markers at the points of the lines
  double gap = 1.5;       ///< least distance of a label from anything
};

struct Placed {
  Box box;
  std::optional<Vec> leader; ///< set when the label is apart: a thin line from here to the box joins them
};

/// A place for each label such that none overlaps another, a line, a marker or what is taken, no leader
/// crosses a label, and nobody can take it for the label of another line. Prefers the ends of lines. Nothing
/// when no such places were found (then a key is needed). Deterministic.
[[nodiscard]] std::optional<std::vector<Placed>> place_labels(const std::vector<Labelled>& curves,
                                                              const Field& field);

} // namespace recount::plot
