// The names of levels, which stand beside their lines.
#include "plot/panel_look.hpp"

#include "plot/labels.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace recount::plot {
namespace {

/// Places one note after the other, each clear of those before.
class LevelNotes {
public:
  LevelNotes(const Panel& panel, const PanelLook& look, const Canvas& canvas)
      : panel_(panel), look_(look), canvas_(canvas) {}

  std::vector<Note> made() {
    set_notes();
    return std::move(notes_);
  }

private:
  /// Whether a curve passes so high between `left` and the right end.
  [[nodiscard]] bool passed(double left, double low, double high) const {
    return std::any_of(panel_.series.begin(), panel_.series.end(), [&](const Series& series) {
      return std::any_of(series.samples.begin(), series.samples.end(), [&](const Sample& sample) {
        const Vec here = at(sample);
        return here.x >= left && here.y > low && here.y < high;
      });
    });
  }

  /// Whether a note would be printed on another one, or with `lines` on the line of another flat level.
  [[nodiscard]] bool covered(const Note& note, const Series& own, bool lines) const {
    const double tall = canvas_.tall();
    const auto around = [&](const Note& n) { return box_around(n.at, canvas_.wide(n.text), tall - 0.5); };
    const Box box = around(note);
    return std::ranges::any_of(notes_, [&](const Note& n) { return overlap(box, around(n)); }) ||
           std::ranges::any_of(panel_.series, [&](const Series& series) {
             if (!lines || &series == &own || series.look != Series::Look::level || series.samples.size() < 2)
               return false;
             const double y = at(series.samples.back()).y;
             return y > box.bottom && y < box.top && std::abs(at(series.samples.front()).y - y) < tall;
           });
  }

  /// Above the right end of a flat level, or below where a curve is in the way; further left where levels are
  /// so near one another that their names would overlap. On another level's line where nothing else is left.
  [[nodiscard]] Note flat_note(const Series& series, double y) const {
    const double half = canvas_.wide(series.label) / 2, tall = canvas_.tall();
    const double right = look_.plot.right - half - 1;
    for (const bool lines : {true, false})
      for (double x = right; x - half > look_.plot.left; x -= 2 * half + 4) {
        const bool below = passed(x - half, y, y + tall) && !passed(x - half, y - tall, y);
        for (const bool under : {below, !below}) {
          if (under && y - 0.9 * tall <= look_.plot.bottom) continue;
          const Note note{series.label, {x, y + (under ? -tall : tall) / 2}};
          if (!covered(note, series, lines)) return note;
        }
      }
    return {series.label, {right, y + tall / 2}};
  }

  /// Whether a marker, another note or another level is where the note would be.
  [[nodiscard]] bool occupied(const Note& note, const Series& own) const {
    const Box box = grown(box_around(note.at, canvas_.wide(note.text), canvas_.tall() - 1), 1);
    if (!inside(box, look_.plot)) return true;
    return std::ranges::any_of(notes_,
                               [&](const Note& n) {
                                 return overlap(box,
                                                box_around(n.at, canvas_.wide(n.text), canvas_.tall() - 1));
                               }) ||
           std::ranges::any_of(panel_.series, [&](const Series& series) {
             if (&series == &own) return false;
             if (series.look == Series::Look::level)
               return series.samples.size() > 1 &&
                      crosses(at(series.samples.front()), at(series.samples.back()), box);
             return std::ranges::any_of(series.samples,
                                        [&](const Sample& sample) { return distance(at(sample), box) < 2; });
           });
  }

  /// Beside a level that slopes, where nothing is in the way.
  [[nodiscard]] Note sloped_note(const Series& series, Vec a, Vec b) const {
    const double half = canvas_.wide(series.label) / 2;
    const auto beside = [&](double share, bool left) {
      const double x = a.x + share * (b.x - a.x);
      return Note{series.label, {left ? x - half - 4 : x + half + 4, a.y + share * (b.y - a.y)}};
    };
    for (const double share : {0.7, 0.85, 0.5, 0.35, 0.2, 0.95, 0.9, 0.8, 0.6, 0.4, 0.3, 0.1})
      for (const bool left : {true, false})
        if (const Note note = beside(share, left); !occupied(note, series)) return note;
    return beside(0.35, false);
  }

  /// One name for flat levels that are nearer to one another than names can be: "line, n = 4096 to 10240".
  [[nodiscard]] static std::string common_name(const std::vector<const Series*>& levels) {
    const std::string &first = levels.front()->label, &last = levels.back()->label;
    if (levels.size() == 1) return first;
    const auto parts = std::ranges::mismatch(first, last);
    const auto blank = first.rfind(' ', static_cast<std::size_t>(parts.in1 - first.begin()));
    if (blank == std::string::npos) return {};
    const bool same = std::ranges::all_of(
        levels, [&](const Series* level) { return level->label.starts_with(first.substr(0, blank + 1)); });
    return same ? first + (levels.size() > 2 ? " to " : ", ") + last.substr(blank + 1) : std::string();
  }

  /// Names of flat levels: above their right end, or below where a curve is in the way.
  void set_flat_notes(std::vector<const Series*> flat) {
    const auto height = [&](const Series* level) { return at(level->samples.back()).y; };
    std::vector<std::vector<const Series*>> groups;
    std::ranges::stable_sort(flat, {}, height);
    for (const Series* level : flat) {
      if (groups.empty() || height(level) - height(groups.back().back()) > canvas_.tall())
        groups.emplace_back();
      groups.back().push_back(level);
    }
    for (auto& group : groups) {
      std::ranges::sort(group); // as they were given
      Series named = *group.front();
      named.label = common_name(group);
      if (named.label.empty())
        for (const Series* level : group)
          notes_.push_back(flat_note(*level, height(level)));
      else
        notes_.push_back(flat_note(named, height(*std::ranges::max_element(group, {}, height))));
    }
  }

  void set_notes() {
    std::vector<const Series*> flat;
    const auto slopes = [&](const Series& series) {
      return at(series.samples.back()).y - at(series.samples.front()).y >= canvas_.tall();
    };
    for (const Series& series : panel_.series)
      if (series.look == Series::Look::level && series.samples.size() > 1 && !slopes(series))
        flat.push_back(&series);
    set_flat_notes(flat);
    for (const Series& series : panel_.series)
      if (series.look == Series::Look::level && series.samples.size() > 1 && slopes(series))
        notes_.push_back(sloped_note(series, at(series.samples.front()), at(series.samples.back())));
  }

  [[nodiscard]] Vec at(const Sample& s) const { return place_of(s, look_); }

  const Panel& panel_;
  const PanelLook& look_;
  const Canvas& canvas_;
  std::vector<Note> notes_;
};

} // namespace

std::vector<Note> level_notes(const Panel& panel, const PanelLook& look, const Canvas& canvas) {
  return LevelNotes(panel, look, canvas).made();
}

} // namespace recount::plot
