#include "plot/labels.hpp"

#include <algorithm>
#include <cmath>

namespace recount::plot {

Box box_around(Vec centre, double width, double height) {
  return {centre.x - width / 2, centre.y - height / 2, centre.x + width / 2, centre.y + height / 2};
}

Box grown(const Box& b, double by) {
  return {b.left - by, b.bottom - by, b.right + by, b.top + by};
}

bool inside(const Box& a, const Box& of) {
  return a.left >= of.left && a.right <= of.right && a.bottom >= of.bottom && a.top <= of.top;
}

double distance(Vec p, const Box& b) {
  const double dx = std::max({b.left - p.x, 0.0, p.x - b.right});
  const double dy = std::max({b.bottom - p.y, 0.0, p.y - b.top});
  return std::hypot(dx, dy);
}

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top;
}

bool crosses(Vec a, Vec b, const Box& box) {
  double from = 0, to = 1; // the part of the segment inside the slabs (Liang and Barsky 1984)
  const auto clip = [&](double start, double delta, double low, double high) {
    if (delta == 0) return start >= low && start <= high;
    const double t0 = (low - start) / delta, t1 = (high - start) / delta;
    from = std::max(from, std::min(t0, t1));
    to = std::min(to, std::max(t0, t1));
    return from <= to;
  };
  return clip(a.x, b.x - a.x, box.left, box.right) && clip(a.y, b.y - a.y, box.bottom, box.top);
}

double distance(Vec a, Vec b, const Box& box) {
  if (crosses(a, b, box)) return 0;
  double least = std::min(distance(a, box), distance(b, box));
  const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
  if (square == 0) return least;
  for (const Vec corner : {Vec{box.left, box.bottom}, Vec{box.left, box.top}, Vec{box.right, box.bottom},
                           Vec{box.right, box.top}}) {
    const double t = std::clamp(((corner.x - a.x) * dx + (corner.y - a.y) * dy) / square, 0.0, 1.0);
    least = std::min(least, std::hypot(a.x + t * dx - corner.x, a.y + t * dy - corner.y));
  }
  return least;
}

} // namespace recount::plot
