// Plane geometry of boxes and segments, in points, y upwards. Pure.
#pragma once

namespace recount::plot {

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

} // namespace recount::plot
