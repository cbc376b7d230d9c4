#include "plot/panel_look.hpp"

#include "plot/style.hpp"
#include "plot/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace recount::plot {
namespace {

int linetype(const Panel& panel, std::size_t i) {
  if (panel.series[i].look == Series::Look::level) return line_of_level;
  if (panel.series[i].linetype > 0) return panel.series[i].linetype;
  const auto n = static_cast<int>(panel.series.size()), k = static_cast<int>(i);
  if (n <= categories) return 1 + k;
  if (n <= steps || panel.ordered)
    return first_step + k * (steps - 1) / (n - 1); // neighbours may share a shade
  return first_step + k % steps;
}

/// How names are shown, from the most to the least welcome.
struct Attempt {
  bool compact = false, beside = false; ///< beside: the right margin has space for labels
};

class PanelLayout {
public:
  PanelLayout(const Panel& panel, const Box& cell, const Canvas& canvas, double least_left)
      : panel_(panel), cell_(cell), canvas_(canvas), least_left_(least_left) {}

  PanelLook made(bool key) {
    // One curve is named by the title.
    if (panel_.series.size() == 1 && panel_.series[0].label.empty()) {
      set_axes(8);
      return look_;
    }
    if (!key && !canvas_.cells && try_labels()) return look_;
    use_key();
    return look_;
  }

private:
  /// Names right of the plot, in columns where they are many; a shade that several curves share is named
  /// once. Of names that would take more than half of the width every second one is left out, until they do
  /// not: curves that many are ordered, and their shades with them.
  void use_key() {
    set_axes(8); // for the height of the plot and the linetypes
    std::vector<std::string> names;
    double wide = 0;
    for (std::size_t i = 0; i < panel_.series.size(); ++i) {
      std::size_t last = i;
      if (panel_.series[i].look == Series::Look::level) {
        names.resize(i + 1);
        continue;
      }
      while (last + 1 < panel_.series.size() && look_.curves[last + 1].linetype == look_.curves[i].linetype)
        ++last;
      names.resize(last + 1);
      names[i] = panel_.series[i].label +
                 (last > i && !panel_.series[last].label.empty() ? " – " + panel_.series[last].label : "");
      wide = std::max(wide, canvas_.wide(names[i]));
      i = last;
    }
    auto shown = static_cast<double>(
        std::count_if(names.begin(), names.end(), [](const auto& n) { return !n.empty(); }));
    const double rows = std::max(1.0, std::floor(look_.plot.height() / (canvas_.tall() + 0.2)) -
                                          (panel_.series_title.empty() ? 0 : 1));
    const double column = wide + (canvas_.cells ? 24 : 29);
    while (shown > rows && std::ceil(shown / rows) * column > cell_.width() / 2)
      shown = thin_out(names);
    set_axes(std::ceil(shown / rows) * column);
    look_.labelled = false;
    look_.key_rows = static_cast<int>(rows);
    for (std::size_t i = 0; i < names.size(); ++i)
      look_.curves[i].label = names[i];
  }

  /// Keeps every second name; returns how many are left.
  static double thin_out(std::vector<std::string>& names) {
    std::size_t named = 0, left = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty() && named++ % 2 != 0) names[i].clear();
      left += names[i].empty() ? 0U : 1U;
    }
    return static_cast<double>(left);
  }

  /// How far the last tic's text reaches out of the cell.
  [[nodiscard]] double beyond_page() const {
    if (look_.x.tics.empty() || canvas_.cells) return 0;
    const Tic& last = look_.x.tics.back();
    const double centre = look_.plot.left + look_.x.place(last.at) * look_.plot.width();
    return centre + canvas_.wide(last.text) / 2 + 1 - cell_.right;
  }

  [[nodiscard]] double widest(bool compact) const {
    double most = 0;
    for (const auto& s : panel_.series)
      most = std::max(most, canvas_.wide(compact ? s.compact : s.label));
    return most;
  }

  /// Axes, titles and marks for a right margin of this width.
  void set_axes(double right) {
    const double line = canvas_.tall();
    const bool cells = canvas_.cells;
    // Of panels one above the other the last alone names the axis; names need no title.
    const bool names = panel_.x_along == Panel::Along::names, bare = panel_.x_title.empty() && !names;
    const double bottom = cell_.bottom +
                          (bare    ? 0.5
                           : names ? 1
                                   : 2) *
                              line +
                          (cells         ? 4
                           : canvas_.tex ? 12
                                         : 7);
    double top = cell_.top - line - (cells ? line + 4 : 4); // text: the y title takes a line
    const auto named = [](const auto& mark) { return !mark.label.empty(); };
    if (std::ranges::any_of(panel_.marks, named) || std::ranges::any_of(panel_.spans, named))
      top -= line * lines_of_marks();
    look_ = {};
    look_.plot = {cell_.left + 30, bottom, cell_.right - right, top};
    look_.y = y_axis(panel_, look_.plot, canvas_);
    double tic = 0;
    for (const auto& t : look_.y.tics)
      tic = std::max(tic, canvas_.wide(t.text));
    look_.plot.left = cell_.left + tic + (cells ? 8 : line + (canvas_.tex ? 14 : 8));
    look_.plot.left = std::max(look_.plot.left, cell_.left + least_left_);
    look_.x = x_axis(panel_, look_.plot.width(), canvas_);
    if (bare)
      for (auto& t : look_.x.tics)
        t.text.clear();
    if (const double out = beyond_page(); out > 0.1) return set_axes(right + out);
    // Above the plot; further left where it is too long for that.
    const double title = cell_.right - 2 - canvas_.wide(panel_.title);
    look_.title = {cells ? cell_.left : std::max(cell_.left + 2, std::min(look_.plot.left, title)),
                   cell_.top - line / 2 - (cells ? 0 : 1)};
    look_.x_title = {look_.plot.centre().x, cell_.bottom + line / 2 + (cells ? 0 : 1)};
    look_.y_title = {cell_.left + line / 2 + 1, look_.plot.centre().y};
    for (std::size_t i = 0; i < panel_.series.size(); ++i)
      look_.curves.push_back({panel_.series[i].label, linetype(panel_, i), {}});
    set_marks();
    set_spans();
    look_.notes = level_notes(panel_, look_, canvas_);
  }

  /// A label is in the middle of its stretch, unless it would touch the one before.
  void set_spans() {
    double right = -1e9;
    for (const auto& span : panel_.spans) {
      const double begin = std::clamp(look_.x.place(span.begin), 0.0, 1.0),
                   end = std::clamp(look_.x.place(span.end), 0.0, 1.0);
      const double half = canvas_.wide(span.label) / 2;
      const double x = look_.plot.left + (begin + end) / 2 * look_.plot.width();
      const bool fits =
          !span.label.empty() && x - half > right + 3 && x - half >= cell_.left && x + half <= cell_.right;
      if (fits) right = x + half;
      const Vec at{x, look_.plot.top + canvas_.tall() / 2 + (canvas_.cells ? 4 : 1)};
      look_.spans.push_back({begin, end, fits ? span.label : "", at, span.dark});
    }
  }

  /// Labels of marks take two lines where side by side they would be far from their marks.
  [[nodiscard]] int lines_of_marks() const {
    double wide = 0;
    for (const auto& mark : panel_.marks)
      wide += canvas_.wide(mark.label) + 5;
    constexpr double crowded = 0.7;
    return wide > crowded * (cell_.width() - 30) ? 2 : 1;
  }

  void set_marks() {
    std::vector<MarkLook> marks;
    const double above = look_.plot.top + canvas_.tall() / 2 + (canvas_.cells ? 4 : 1);
    for (const auto& mark : panel_.marks)
      if (mark.x > look_.x.low && mark.x < look_.x.high)
        marks.push_back(
            {mark.x, mark.label, {look_.plot.left + look_.x.place(mark.x) * look_.plot.width(), above}});
    std::ranges::sort(marks, {}, &MarkLook::x);
    const auto lines = static_cast<std::size_t>(lines_of_marks());
    for (std::size_t line = 0; line < lines; ++line)
      push_apart(marks, line, lines);
    look_.marks = std::move(marks);
  }

  /// Every `step`-th label from `first` on, in one line: neighbours are pushed apart to the right, and back
  /// into the cell.
  void push_apart(std::vector<MarkLook>& marks, std::size_t first, std::size_t step) const {
    constexpr double gap = 5;
    double right = -1e9, left = cell_.right - 1 + gap;
    for (std::size_t i = first; i < marks.size(); i += step) {
      const double half = canvas_.wide(marks[i].label) / 2;
      marks[i].at.x = std::max(marks[i].at.x, right + gap + half);
      marks[i].at.y += static_cast<double>(first) * canvas_.tall();
      right = marks[i].at.x + half;
    }
    for (std::size_t i = marks.size(); i-- > first;) {
      if ((i - first) % step != 0) continue;
      const double half = canvas_.wide(marks[i].label) / 2;
      marks[i].at.x = std::min(marks[i].at.x, left - gap - half);
      left = marks[i].at.x - half;
    }
  }

  [[nodiscard]] Vec at(const Sample& s) const { return place_of(s, look_); }

  /// The first way in which every label touches its curve; else the first in which some are apart.
  bool try_labels() {
    std::optional<PanelLook> fallback;
    for (const Attempt attempt : {Attempt{false, false}, {false, true}, {true, false}, {true, true}}) {
      if (!try_labels(attempt)) continue;
      const bool close = std::none_of(look_.curves.begin(), look_.curves.end(),
                                      [](const auto& c) { return c.place.leader.has_value(); });
      if (close) return true;
      if (!fallback) fallback = look_;
    }
    if (fallback) look_ = *fallback;
    return fallback.has_value();
  }

  bool try_labels(Attempt attempt) {
    set_axes(attempt.beside ? widest(attempt.compact) + 7 : 8);
    std::vector<Labelled> curves;
    for (const auto& series : panel_.series) {
      Labelled curve;
      for (const auto& s : series.samples) {
        if (!std::isnan(s.y)) curve.line.push_back(at(s));
      }
      curve.named = series.look != Series::Look::level && !series.label.empty(); // a level has its note
      // A series without a name belongs to the named one of its colour.
      if (std::ranges::any_of(panel_.series, [&](const Series& other) {
            return other.linetype == series.linetype && other.look != Series::Look::level &&
                   other.label.empty();
          }))
        curve.group = series.linetype;
      curve.width = canvas_.wide(attempt.compact ? series.compact : series.label);
      curve.height = canvas_.cells ? 7.5 : text_size * 0.82; // capitals and digits, hardly a descender
      curves.push_back(std::move(curve));
    }
    const Box& p = look_.plot;
    Field field{
        {p.left + 2, p.bottom + 1.5, cell_.right - 0.5, p.top + 1}, {}, 1.8, canvas_.cells ? 0.5 : 1.3};
    for (const auto& mark : look_.marks) {
      const double x = p.left + look_.x.place(mark.x) * p.width();
      field.taken.push_back({x - 0.3, p.bottom, x + 0.3, p.top});
    }
    for (const Note& note : look_.notes)
      field.taken.push_back(box_around(note.at, canvas_.wide(note.text), canvas_.tall() - 2));
    const auto places = place_labels(curves, field);
    if (!places) return false;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      look_.curves[i].label = panel_.series[i].look == Series::Look::level ? ""
                              : attempt.compact                            ? panel_.series[i].compact
                                                                           : panel_.series[i].label;
      look_.curves[i].place = (*places)[i];
    }
    return true;
  }

  const Panel& panel_;
  const Box& cell_;
  const Canvas& canvas_;
  double least_left_;
  PanelLook look_;
};
} // namespace

PanelLook look_of(const Panel& panel, const Box& cell, const Canvas& canvas, bool key, double least_left) {
  return PanelLayout(panel, cell, canvas, least_left).made(key);
}

} // namespace recount::plot
