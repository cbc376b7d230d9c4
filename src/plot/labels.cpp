#include "plot/labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace recount::plot {
namespace {
constexpr double far_away = 1e9;
/// How much nearer the own line must be than any other, in points.
constexpr double clear = 1.5;

double to_line(const std::vector<Vec>& line, const Box& b) {
  if (line.size() == 1) return distance(line[0], b);
  double least = far_away;
  for (std::size_t i = 1; i < line.size(); ++i)
    least = std::min(least, distance(line[i - 1], line[i], b));
  return least;
}

/// A place considered for one label, the lower the cost the better.
struct Candidate {
  Placed placed;
  double cost = 0;
};

/// Everything that does not depend on where the other labels go.
class Judge {
public:
  Judge(const std::vector<Labelled>& curves, const Field& field) : curves_(curves), field_(field) {}

  /// Nothing when the box is on something.
  [[nodiscard]] std::optional<double> cost(std::size_t self, const Box& box, Vec anchor, bool leader) const {
    if (!inside(box, field_.area)) return {};
    for (const auto& taken : field_.taken) {
      if (overlap(grown(box, field_.gap), taken)) return {};
    }
    double own = far_away, other = far_away;
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      double near = to_line(curves_[i].line, box);
      if (near < field_.gap) return {};
      for (const Vec& p : curves_[i].line)
        near = std::min(near, std::max(0.0, distance(p, box) - field_.marker));
      if (near < field_.gap * 0.5) return {};
      (together(i, self) ? own : other) = std::min(together(i, self) ? own : other, near);
    }
    // What the label belongs to must be plain: its own line is the nearest by far enough, or a leader ends
    // where no other line is.
    if (!leader) return other < own + clear ? std::nullopt : std::optional(40 / (1 + other - own));
    const double end = box.bottom > anchor.y ? box.bottom : box.top;
    if (!alone(self, anchor) || leader_crosses_line(self, anchor, end)) return {};
    return 25 + std::abs(end - anchor.y);
  }

private:
  [[nodiscard]] bool together(std::size_t i, std::size_t self) const {
    return i == self || (curves_[i].group != 0 && curves_[i].group == curves_[self].group);
  }

  [[nodiscard]] bool alone(std::size_t self, Vec anchor) const {
    const Box spot = box_around(anchor, 0, 0);
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      if (!together(i, self) && to_line(curves_[i].line, spot) < field_.marker + clear) return false;
    }
    return true;
  }

  /// The label would stand nearer to the line that is crossed than to its own.
  [[nodiscard]] bool leader_crosses_line(std::size_t self, Vec anchor, double end) const {
    const Box stem{anchor.x - 0.5, std::min(anchor.y, end), anchor.x + 0.5, std::max(anchor.y, end)};
    for (std::size_t i = 0; i < curves_.size(); ++i)
      if (!together(i, self) && to_line(curves_[i].line, stem) <= 0) return true;
    return false;
  }

  const std::vector<Labelled>& curves_;
  const Field& field_;
};

/// Points of the line where a label may hang: its points and the middles between, with the parts it prefers.
std::vector<std::pair<Vec, double>> anchors(const std::vector<Vec>& line) {
  std::vector<std::pair<Vec, double>> places;
  const std::size_t last = line.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const double from_end = last == 0 ? 0 : static_cast<double>(last - i) / static_cast<double>(last);
    places.emplace_back(line[i], 6 * from_end);
    if (i < last)
      places.emplace_back(Vec{(line[i].x + line[i + 1].x) / 2, (line[i].y + line[i + 1].y) / 2},
                          6 * from_end + 1);
  }
  return places;
}

std::vector<Candidate> candidates(std::size_t self, const std::vector<Labelled>& curves, const Field& field) {
  const auto& curve = curves[self];
  if (!curve.named) return {{{box_around(curve.line.front(), 0, 0), {}}, 0}};
  const Judge judge(curves, field);
  const double off = field.marker + field.gap;
  const double w = curve.width, h = curve.height;
  std::vector<Candidate> list;
  const auto consider = [&](Vec anchor, Vec centre, bool leader, double extra) {
    const Box box = box_around(centre, w, h);
    const auto cost = judge.cost(self, box, anchor, leader);
    if (cost) list.push_back({{box, leader ? std::optional<Vec>(anchor) : std::nullopt}, *cost + extra});
  };
  for (const auto& [at, wish] : anchors(curve.line)) {
    const bool end = at.x == curve.line.back().x && at.y == curve.line.back().y;
    if (end) consider(at, {at.x + off + w / 2, at.y}, false, wish - 8);
    if (at.x == curve.line.front().x) consider(at, {at.x - off - w / 2, at.y}, false, wish);
    for (const double side : {1.0, -1.0}) {
      for (const double shift : {0.0, 0.5, -0.5, 0.25, -0.25})
        consider(at, {at.x + shift * (w + off), at.y + side * (off + h / 2)}, false,
                 wish + 2 * std::abs(shift));
      for (int tier = 1; tier <= 6; ++tier) {
        for (const double shift : {0.0, 0.35, -0.35})
          consider(at, {at.x + shift * w, at.y + side * (off + h / 2 + tier * 0.75 * (h + field.gap))}, true,
                   wish + 2 * std::abs(shift));
      }
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
  if (list.size() > 400) list.resize(400);
  return list;
}

bool leader_crosses(const Placed& a, const Box& box) {
  if (!a.leader) return false;
  const Vec end{a.leader->x, a.box.bottom > a.leader->y ? a.box.bottom : a.box.top};
  return crosses(*a.leader, end, box);
}

bool agree(const Placed& a, const Placed& b, double gap) {
  const Box wide = grown(b.box, gap);
  return !overlap(a.box, wide) && !leader_crosses(a, wide) && !leader_crosses(b, grown(a.box, gap));
}

/// Depth-first with the most constrained label first; gives up after a fixed number of steps.
class Search {
public:
  Search(std::vector<std::vector<Candidate>> all, double gap)
      : all_(std::move(all)), order_(all_.size()), gap_(gap) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return all_[a].size() < all_[b].size(); });
    chosen_.assign(all_.size(), nullptr);
  }

  bool place(std::size_t depth) {
    if (depth == order_.size()) return true;
    for (const auto& candidate : all_[order_[depth]]) {
      if (++steps_ > 200000) return false;
      if (!free(candidate, order_[depth])) continue;
      chosen_[order_[depth]] = &candidate;
      if (place(depth + 1)) return true;
      chosen_[order_[depth]] = nullptr;
    }
    return false;
  }

  /// Moves one label at a time to a cheaper free place until none can be.
  std::vector<Placed> improved() {
    bool moved = true;
    for (int round = 0; moved && round < 10; ++round) {
      moved = false;
      for (const std::size_t i : order_) {
        const auto better = std::find_if(all_[i].begin(), all_[i].end(), [&](const auto& c) {
          return c.cost >= chosen_[i]->cost || free(c, i);
        });
        if (better == all_[i].end() || better->cost >= chosen_[i]->cost) continue;
        chosen_[i] = &*better;
        moved = true;
      }
    }
    std::vector<Placed> places;
    for (const auto* c : chosen_)
      places.push_back(c->placed);
    return places;
  }

private:
  [[nodiscard]] bool free(const Candidate& candidate, std::size_t self) const {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (i != self && chosen_[i] && !agree(candidate.placed, chosen_[i]->placed, gap_)) return false;
    }
    return true;
  }

  std::vector<std::vector<Candidate>> all_;
  std::vector<std::size_t> order_;
  std::vector<const Candidate*> chosen_;
  double gap_;
  int steps_ = 0;
};
} // namespace

std::optional<std::vector<Placed>> place_labels(const std::vector<Labelled>& curves, const Field& field) {
  std::vector<std::vector<Candidate>> all;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].line.empty()) return {};
    all.push_back(candidates(i, curves, field));
    if (all.back().empty()) return {};
  }
  Search search(std::move(all), field.gap);
  if (!search.place(0)) return {};
  return search.improved();
}

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
