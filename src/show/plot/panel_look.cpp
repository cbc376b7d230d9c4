#include "show/plot/layout.hpp"

#include "base/text.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace recount::plot {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

/// The width of the widest text of a list; `text`: that of an element.
template <class List, class Text>
double widest(const Canvas& canvas, const List& list, const Text& text) {
  double most = 0;
  for (const auto& one : list)
    most = std::max(most, canvas.wide(std::invoke(text, one)));
  return most;
}

/// Times over more than this factor are on a logarithmic axis: a step from 1 to 4 ns would vanish below
/// 100.
constexpr double max_on_linear = 8;
/// Over more than this factor, on one of decades: 1048576 ns says less than 1e6.
constexpr double max_on_powers_of_2 = 1e4;

/// Of the tics that are asked for, those that keep clear of the one before.
Axis linear_x_axis(const Panel& panel, Range x, double length, const Canvas& canvas) {
  for (const auto& span : panel.spans) {
    x.take(span.begin);
    x.take(span.end);
  }
  if (panel.x_tics.empty()) return linear_axis(x.low, x.high, std::max(2, static_cast<int>(length / 32)));
  Axis axis{x.low, x.high > x.low ? x.high : x.low + 1, false, {}};
  double right = -1e9;
  for (const auto& tic : panel.x_tics) {
    const double half = canvas.wide(tic.label) / 2, centre = axis.place(tic.x) * length;
    if (centre - half < right + 5 || centre + half > length + 8) continue;
    right = centre + half;
    axis.tics.push_back({tic.x, tic.label});
  }
  return axis;
}

/// Those of the panel and of all whose axis has the same title: they are on one scale. Strips over time and
/// names are not: their panels have other series and names.
std::vector<Sample> samples_with_title(const Panel& panel, const std::vector<Panel>& all,
                                       std::string Panel::*title) {
  std::vector<Sample> samples;
  for (const Panel& other : all)
    if (&other == &panel || (panel.x_along != Panel::Along::linear && other.x_along == panel.x_along &&
                             other.*title == panel.*title))
      for (const Series& series : other.series)
        samples.insert(samples.end(), series.samples.begin(), series.samples.end());
  return samples;
}

/// From 0 where the values are near one another, else logarithmic. `plot`: where it will be drawn.
Axis y_axis(const Panel& panel, const std::vector<Panel>& all, const Box& plot, const Canvas& canvas) {
  Range middle, band;
  for (const Sample& s : samples_with_title(panel, all, &Panel::y_title)) {
    if (std::isnan(s.y)) continue;
    middle.take(s.y);
    band.take(s.high);
  }
  const bool wide = panel.y_is_time && middle.high > max_on_linear * middle.low;
  if (middle.low > 0 && wide && middle.high > max_on_powers_of_2 * middle.low)
    return decades_axis(middle.low / 1.3, middle.high * 1.3);
  if (middle.low > 0 && (wide || panel.y_halves)) {
    const auto name = [](double v) { return fmt::format("{:.7g}", v); };
    Axis axis = log2_axis(middle.low / 1.25, middle.high * 1.25, plot.height(), canvas.tall() / 2, name,
                          [&](const std::string&) { return canvas.tall(); });
    for (const double at : panel.y_tics) {
      std::erase_if(axis.tics, [&](const Tic& tic) {
        return std::abs(axis.place(tic.at) - axis.place(at)) * plot.height() < canvas.tall();
      });
      axis.tics.push_back({at, name(at)});
    }
    return axis;
  }
  if (panel.y_decades && middle.low > 0 && middle.high > max_on_linear * middle.low)
    return decades_axis(middle.low / 1.3, middle.high * 1.3);
  // One wild repetition must not flatten all curves: the band may leave the picture, the medians not.
  double high = std::max({0.0, middle.high, std::min(band.high, 1.25 * middle.high)}) * 1.06;
  double low = std::min(0.0, 1.06 * middle.low);
  if (panel.y_is_share) {
    high = std::max(high, 1.03);
    low = std::min(low, -0.03); // a curve at 0 does not overlap the axis
    if (panel.y_title.ends_with("hit rate") && middle.low > 0.75)
      low = 1.15 * middle.low - 0.15; // else one line at 1
  }
  const int wanted = panel.x_along == Panel::Along::linear
                         ? std::max(4, static_cast<int>(plot.height() / 12))
                         : std::max(2, static_cast<int>(plot.height() / 18));
  return linear_axis(low, high, wanted);
}

/// As Panel::x_along; `length` of the axis in the units of the canvas.
Axis x_axis(const Panel& panel, const std::vector<Panel>& all, double length, const Canvas& canvas) {
  Range x;
  const std::vector<Sample> samples = samples_with_title(panel, all, &Panel::x_title);
  for (const Sample& s : samples)
    x.take(s.x);
  if (panel.x_along == Panel::Along::linear) return linear_x_axis(panel, {x.low, x.high}, length, canvas);
  if (panel.x_along == Panel::Along::names) {
    Axis axis{0.5, static_cast<double>(panel.x_names.size()) + 0.5, false, {}};
    for (std::size_t i = 0; i < panel.x_names.size(); ++i)
      axis.tics.push_back({static_cast<double>(i + 1), panel.x_names[i]});
    return axis;
  }
  if (panel.x_along == Panel::Along::number) return decades_axis(x.low, x.high);
  if (panel.x_along == Panel::Along::settings) {
    return settings_axis(base::mapped(samples, &Sample::x), length, canvas.cells ? 8 : 5,
                         [&](const std::string& t) { return canvas.wide(t); });
  }
  // The axis ends a little outside the data, so that no marker sits on the border.
  const double margin = std::pow(std::max(x.high / x.low, 2.0), 0.02);
  return log2_axis(
      x.low / margin, x.high * margin, length, canvas.cells ? 8 : 7,
      [](double v) { return base::format_bytes(v); }, [&](const std::string& t) { return canvas.wide(t); });
}

/// Where a sample is on the page.
Vec resolve_place(const Sample& s, const PanelLook& look) {
  const Box& p = look.plot;
  return {p.left + look.x.place(s.x) * p.width(), p.bottom + look.y.place(s.y) * p.height()};
}

/// Places the names of levels one after the other, each clear of those before.
class LevelNotes {
public:
  LevelNotes(const Panel& panel, const PanelLook& look, const Canvas& canvas)
      : panel_(panel), look_(look), canvas_(canvas) {}

  std::vector<Note> build() {
    for (const bool sloped : {false, true})
      for (const Series& series : panel_.series)
        if (series.look == Series::Look::level && series.linetype == 0 && series.samples.size() > 1 &&
            (end(series).y - at(series.samples.front()).y >= canvas_.tall()) == sloped)
          notes_.push_back(sloped ? sloped_note(series) : flat_note(series));
    return std::move(notes_);
  }

private:
  [[nodiscard]] Vec at(const Sample& s) const { return resolve_place(s, look_); }
  [[nodiscard]] Vec end(const Series& series) const { return at(series.samples.back()); }
  [[nodiscard]] Box box(const Note& note) const {
    return box_around(note.at, canvas_.wide(note.text), canvas_.tall() - 0.5);
  }

  /// Whether nothing is where the note would be: no other note, no marker, and, where lines are to be
  /// avoided, no other level.
  [[nodiscard]] bool is_free(const Note& note, const Series& own, bool avoid_lines) const {
    const Box around = box(note);
    if (!inside(around, {look_.plot.left, look_.plot.bottom, look_.plot.right, 1e9}) ||
        std::ranges::any_of(notes_, [&](const Note& n) { return overlap(around, box(n)); }))
      return false;
    return std::ranges::none_of(panel_.series, [&](const Series& series) {
      if (&series == &own) return false;
      if (series.look == Series::Look::level)
        return avoid_lines && series.samples.size() > 1 &&
               crosses(at(series.samples.front()), end(series), around);
      return std::ranges::any_of(series.samples,
                                 [&](const Sample& sample) { return distance(at(sample), around) < 2; });
    });
  }

  /// At the first of the places that is free, else at the first.
  [[nodiscard]] Note place(const std::string& label, const Series& own,
                           const std::vector<Vec>& places) const {
    for (const bool avoid_lines : {true, false})
      for (const Vec at : places)
        if (const Note note{label, at}; is_free(note, own, avoid_lines)) return note;
    return {label, places.front()};
  }

  /// Above the right end of a flat level or below; further left where that is taken.
  [[nodiscard]] Note flat_note(const Series& own) const {
    const double half = canvas_.wide(own.label) / 2, tall = canvas_.tall(), y = end(own).y;
    std::vector<Vec> places;
    for (double x = look_.plot.right - half - 1; places.empty() || x - half > look_.plot.left;
         x -= 2 * half + 4)
      for (const double side : {0.5, -0.5})
        places.push_back({x, y + side * tall});
    return place(own.label, own, places);
  }

  /// Next to a sloping level.
  [[nodiscard]] Note sloped_note(const Series& own) const {
    const double half = canvas_.wide(own.label) / 2;
    const Vec a = at(own.samples.front()), b = end(own);
    // The corner of the name that is nearest to the line stays clear of it.
    const double distance = half + 2 + canvas_.tall() / 2 * (b.x - a.x) / (b.y - a.y);
    std::vector<Vec> places;
    for (const double share : {0.7, 0.85, 0.5, 0.35, 0.2, 0.95, 0.9, 0.8, 0.6, 0.4, 0.3, 0.1})
      for (const double side : {-1.0, 1.0})
        places.push_back({a.x + share * (b.x - a.x) + side * distance, a.y + share * (b.y - a.y)});
    return place(own.label, own, places);
  }

  const Panel& panel_;
  const PanelLook& look_;
  const Canvas& canvas_;
  std::vector<Note> notes_;
};

int linetype(const Panel& panel, std::size_t i) {
  if (panel.series[i].linetype > 0) return panel.series[i].linetype;
  if (panel.series[i].look == Series::Look::level) return line_of_level;
  const auto n = static_cast<int>(panel.series.size()), k = static_cast<int>(i);
  if (n <= categories) return 1 + k;
  if (n <= steps || panel.ordered)
    return first_step + k * (steps - 1) / (n - 1); // neighbours may share a shade
  return first_step + k % steps;
}

/// How names are shown, from the most to the least welcome.
struct Attempt {
  bool compact = false, right_margin = false; ///< right_margin: it has space for labels
};

class PanelLayout {
public:
  PanelLayout(const std::vector<Panel>& all, std::size_t index, const Box& cell, const Canvas& canvas,
              const Margins& least)
      : all_(all), panel_(all[index]), cell_(cell), canvas_(canvas), least_(least) {}

  PanelLook build(bool key) {
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
      while (last + 1 < panel_.series.size() && panel_.series[last + 1].look != Series::Look::level &&
             look_.curves[last + 1].linetype == look_.curves[i].linetype)
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

  /// Axes, titles and marks for a right margin of this width.
  void set_axes(double right) {
    right = std::max(right, least_.right);
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
    top = std::min(top, cell_.top - least_.top);
    look_ = {};
    look_.plot = {cell_.left + 30, bottom, cell_.right - right, top};
    look_.y = y_axis(panel_, all_, look_.plot, canvas_);
    const double tic = widest(canvas_, look_.y.tics, &Tic::text);
    look_.plot.left = cell_.left + tic + (cells ? 8 : line + (canvas_.tex ? 14 : 8));
    look_.plot.left = std::max(look_.plot.left, cell_.left + least_.left);
    look_.x = x_axis(panel_, all_, look_.plot.width(), canvas_);
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
    look_.notes = LevelNotes(panel_, look_, canvas_).build();
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

  [[nodiscard]] Vec at(const Sample& s) const { return resolve_place(s, look_); }

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
    set_axes(attempt.right_margin
                 ? widest(canvas_, panel_.series, attempt.compact ? &Series::compact : &Series::label) + 7
                 : 8);
    std::vector<Labelled> curves;
    for (const auto& series : panel_.series) {
      Labelled curve;
      for (const auto& s : series.samples) {
        if (!std::isnan(s.y)) curve.line.push_back(at(s));
      }
      curve.named = series.look != Series::Look::level && !series.label.empty(); // a level has its note
      // A series without a name, or a level, belongs to the named one of its colour.
      if (std::ranges::any_of(panel_.series, [&](const Series& other) {
            return other.linetype == series.linetype &&
                   (other.look == Series::Look::level || other.label.empty());
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

  const std::vector<Panel>& all_;
  const Panel& panel_;
  const Box& cell_;
  const Canvas& canvas_;
  Margins least_;
  PanelLook look_;
};
} // namespace

PanelLook make_panel_look(const std::vector<Panel>& all, std::size_t index, const Box& cell,
                          const Canvas& canvas, bool key, const Margins& least) {
  return PanelLayout(all, index, cell, canvas, least).build(key);
}

bool cuts_bands(const std::vector<Panel>& panels) {
  return std::ranges::any_of(panels, [&](const Panel& panel) {
    if (panel.series.empty()) return false;
    const Axis axis = y_axis(panel, panels, {0, 0, 100, 100}, {}); // the size decides about tics only
    return std::ranges::any_of(panel.series, [&](const Series& series) {
      return std::ranges::any_of(series.samples, [&](const Sample& s) {
        return s.high > s.low && (s.high > axis.high || (axis.low > 0 && s.low < axis.low));
      });
    });
  });
}

// The layout of a panel of rows.
namespace {

/// Shares beyond these are as good as 0 or as infinity to a reader.
constexpr double smallest = 1.0 / 128, largest = 128;
/// The width of a mark before its name in the key.
constexpr double width_of_mark = 9;

struct Extent {
  double low = 0.5, high = 2;
  bool below = false, above = false, negative = false;
  void take(double share) {
    if (share < smallest) {
      below = true;
      negative = negative || share < 0;
    } else if (share > largest) {
      above = true;
    } else {
      low = std::min(low, share);
      high = std::max(high, share);
    }
  }
};

Extent measure_extent(const Panel& panel) {
  Extent e;
  for (const ShareRow& row : panel.rows)
    for (const auto* const share : {&row.perf, &row.papi})
      if (*share)
        for (const double v : {(*share)->value, (*share)->low, (*share)->high})
          e.take(v);
  for (const ShareRow& row : panel.rows) { // what is allowed does not stretch the axis without end
    e.low = std::min(e.low, std::max(row.stated.low, 1.0 / 16));
    e.high = std::max(e.high, std::min(row.stated.high, 16.0));
  }
  return e;
}

std::string share_text(double share) {
  return share < 1 ? fmt::format("1/{:g}", 1 / share) : fmt::format("{:g}", share);
}

/// The text without its middle, so that it is no wider than that: both ends of an event name matter.
std::string shortened(const std::string& text, double most, const Canvas& canvas) {
  if (canvas.wide(text) <= most) return text;
  std::string cut;
  for (std::size_t kept = text.size() - 1; kept > 1; --kept) {
    cut = text.substr(0, (kept + 1) / 2) + "…" + text.substr(text.size() - kept / 2);
    if (canvas.wide(cut) <= most) break;
  }
  return cut;
}

double row_step(const Canvas& canvas) {
  return canvas.cells ? 8 : canvas.tall() + 2;
}

double above_rows(const Canvas& canvas) { // title and key
  return canvas.cells ? 24 : 2 * canvas.tall() + 5;
}

double below_rows(const Canvas& canvas) { // tics and title of the axis
  return canvas.cells ? 24 : 2 * canvas.tall() + (canvas.tex ? 14 : 8);
}

} // namespace

double RowsLook::x(double share) const {
  if (share < least) return below;
  return share > most ? above : share;
}

double rows_height(const Panel& panel, const Canvas& canvas) {
  const double lines =
      static_cast<double>(panel.rows.size()) + (canvas.cells ? 1 : 0); // the border takes a line
  return above_rows(canvas) + lines * row_step(canvas) + below_rows(canvas);
}

PanelLook make_rows_look(const Panel& panel, const Box& cell, const Canvas& canvas) {
  PanelLook look;
  RowsLook rows;
  rows.step = row_step(canvas);
  const double line = canvas.tall(), gap = canvas.cells ? 4 : 4.5;
  double widest_name = 0;
  for (const ShareRow& row : panel.rows) {
    rows.names.push_back(shortened(row.label, 0.38 * canvas.width, canvas));
    widest_name = std::max(widest_name, canvas.wide(rows.names.back()));
  }
  look.plot = {cell.left + 2 + widest_name + gap + (canvas.tex ? 6 : 0), cell.bottom + below_rows(canvas),
               cell.right - 3 - widest(canvas, panel.rows, &ShareRow::remark) - gap,
               cell.top - above_rows(canvas)};
  rows.remarks = look.plot.right + gap;

  const Extent extent = measure_extent(panel);
  rows.least = std::exp2(std::floor(std::log2(extent.low) - 0.01));
  rows.most = std::exp2(std::ceil(std::log2(extent.high) + 0.01));
  // A lane is as wide as its tic's text needs; the rest of the width is the axis, a little beyond its ends.
  const double margin = 6, lane = canvas.cells ? 24 : 20;
  const int lanes = (extent.below ? 1 : 0) + (extent.above ? 1 : 0);
  const double octave =
      std::max(1.0, (look.plot.width() - 2 * margin - lanes * lane) / std::log2(rows.most / rows.least));
  const double step_out = std::exp2(lane / octave), factor = std::exp2(margin / octave);
  rows.below = rows.least / step_out;
  rows.above = rows.most * step_out;
  look.x = log2_axis(extent.below ? rows.below / factor : rows.least / factor,
                     extent.above ? rows.above * factor : rows.most * factor, look.plot.width(),
                     canvas.cells ? 8 : 5, share_text, [&](const std::string& t) { return canvas.wide(t); });
  std::erase_if(look.x.tics,
                [&](const Tic& t) { return t.at < rows.least * 0.999 || t.at > rows.most * 1.001; });
  if (extent.below) look.x.tics.insert(look.x.tics.begin(), {rows.below, extent.negative ? "≤ 0" : "0"});
  if (extent.above) look.x.tics.push_back({rows.above, "> 128"});
  look.y.low = canvas.cells ? -1 : 0;
  look.y.high = static_cast<double>(panel.rows.size());

  look.title = {cell.left + 2, cell.top - line / 2 - (canvas.cells ? 0 : 1)};
  look.x_title = {look.plot.centre().x, cell.bottom + line / 2 + (canvas.cells ? 0 : 1)};
  double x = cell.left + 2;
  for (const char* name : row_key_names) {
    rows.key.push_back({x, look.title.y - line - (canvas.cells ? 0 : 1)});
    x += width_of_mark + canvas.wide(name) + 8;
  }
  look.rows = rows;
  return look;
}

} // namespace recount::plot
