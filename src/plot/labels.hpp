// Placement of curve labels: next to their curve, without overlap. Pure geometry, y upwards.
#pragma once

#include <optional>
#include <vector>

namespace recount::plot {

// Plane geometry of boxes and segments, in points, y upwards. Pure.
struct Vec {
  double x = 0, y = 0;
};

struct Box {
  double left = 0, bottom = 0, right = 0, top = 0;
  [[nodiscard]] Vec centre() const { return {(left + right) / 2, (bottom + top) / 2}; }
  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return top - bottom; }
};

[[nodiscard]] Box box_around(Vec centre, double width, double height);
[[nodiscard]] Box grown(const Box& box, double by);
/// Touching borders are no overlap.
[[nodiscard]] bool overlap(const Box& a, const Box& b);
[[nodiscard]] bool inside(const Box& a, const Box& of);
/// Whether the segment from `a` to `b` touches the box.
[[nodiscard]] bool crosses(Vec a, Vec b, const Box& box);
/// The distance to the box, 0 when they touch.
[[nodiscard]] double distance(Vec p, const Box& box);
[[nodiscard]] double distance(Vec a, Vec b, const Box& box);

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
/// crosses a label or another line, and nobody can take it for the label of another line. Prefers the ends of
/// lines. Nothing when no such places were found (then a key is needed). Deterministic.
[[nodiscard]] std::optional<std::vector<Placed>> place_labels(const std::vector<Labelled>& curves,
                                                              const Field& field);

} // namespace recount::plot
