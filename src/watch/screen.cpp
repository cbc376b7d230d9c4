#include "watch/screen.hpp"

#include "base/characters.hpp"
#include "base/format.hpp"
#include "command/output.hpp"
#include "plot/live.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <unistd.h>

namespace recount::watch {
namespace {
using Screenclock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_frames{200};
constexpr std::size_t most_above = 64 << 10; ///< bytes of the command's output that wait for a slow terminal
constexpr std::size_t longest_partial = 4096;
constexpr std::size_t most_marks = 40, longest_mark = 16;
constexpr double points_at_least = 20; ///< on the axis

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : std::string("not counted");
}

/// The curve of one series over the last seconds, on so many columns.
plot::LiveCurve curve_of(const watch::Trace& trace, std::size_t series, double window, double columns) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto& its = trace.hello()->series[series];
  plot::LiveCurve curve{base::printable(its.name + " (" + its.unit + ")"), 0, window, {}, {}};
  if (trace.intervals().empty()) return curve;
  // The axis grows until the window is full.
  const double least =
      std::min(window, points_at_least * static_cast<double>(trace.hello()->interval_ms) / 1e3);
  curve.to = std::max(least, trace.intervals().back().end);
  curve.from = std::max(0.0, curve.to - window);
  for (const auto& interval : trace.intervals())
    if (interval.end > curve.from)
      curve.points.push_back(
          {std::max(interval.begin, curve.from), interval.end, interval.values[series].value_or(none)});
  // Ends and what would stand on the name before have no name.
  const double second = columns / (curve.to - curve.from);
  double free_from = 0;
  for (const auto& section : trace.sections()) {
    if (section.time < curve.from) continue;
    const double at = (section.time - curve.from) * second;
    std::string label = command::shortened(base::printable(section.name), longest_mark);
    if (section.edge == watch::Section::Edge::end || at < free_from) label.clear();
    if (!label.empty()) free_from = at + static_cast<double>(command::width(label)) + 1;
    curve.marks.push_back({section.time, label});
  }
  if (curve.marks.size() > most_marks) curve.marks.erase(curve.marks.begin(), curve.marks.end() - most_marks);
  return curve;
}
} // namespace

int WatchScreen::output() {
  if (!theirs_) {
    process::Pipe pipe;
    ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
    ours_ = std::move(pipe.read);
    theirs_ = std::move(pipe.write);
  }
  return theirs_.get();
}

void WatchScreen::started() {
  theirs_.reset();
}

void WatchScreen::polled(std::vector<pollfd>& into) const {
  terminal_.polled(into);
  // A terminal that does not take the command's output makes the command wait, as it would without us.
  if (ours_ && above_.size() < most_above) into.push_back({ours_.get(), POLLIN, 0});
}

void WatchScreen::take_output(std::size_t most) {
  char bytes[16384];
  while (ours_ && above_.size() < most) {
    const ssize_t n = ::read(ours_.get(), bytes, sizeof bytes);
    if (n < 0) break;
    if (n == 0) ours_.reset();
    partial_.append(bytes, static_cast<std::size_t>(n));
    const auto end = partial_.rfind('\n');
    const std::size_t whole = end != std::string::npos                      ? end + 1
                              : partial_.size() > longest_partial || n == 0 ? partial_.size()
                                                                            : 0;
    above_ += partial_.substr(0, whole);
    partial_.erase(0, whole);
  }
}

std::size_t WatchScreen::series(const watch::Trace& trace) const {
  if (series_) return *series_;
  const auto& all = trace.hello()->series;
  const auto first = std::ranges::find_if(all, [](const auto& s) { return s.refused.empty(); });
  return first == all.end() ? 0 : static_cast<std::size_t>(first - all.begin());
}

void WatchScreen::press(char key, const watch::Trace& trace) {
  const std::size_t count = trace.hello() ? trace.hello()->series.size() : 0;
  if (key == 'q' && may_quit_) quit_ = true;
  if (key == ' ') held_ = !held_;
  if (count == 0) return;
  if (key == 'n' || key == '\t') series_ = (series(trace) + 1) % count;
  if (key == 'p') series_ = (series(trace) + count - 1) % count;
  const auto digit = static_cast<std::size_t>(key - '1');
  if (key >= '1' && key <= '9' && digit < count) series_ = digit;
  next_ = {}; // at once, and once when it is held
  due_ = pressed_ = true;
}

void WatchScreen::serve(const watch::Trace& trace) {
  for (const char key : terminal_.serve())
    press(key, trace);
  take_output(most_above);
  if (!above_.empty() && !terminal_.busy()) show(last_frame_);
  if (due_) draw(trace);
}

/// Takes the frame away, writes what the command has written, and puts a frame below.
void WatchScreen::show(const std::string& frame) {
  std::string text = lines_ > 0 ? fmt::format("\033[{}A\r\033[J", lines_) : std::string();
  text += above_;
  if (!above_.empty() && above_.back() != '\n') text += '\n';
  above_.clear();
  text += command::terminal_text(frame);
  lines_ = std::count(frame.begin(), frame.end(), '\n');
  last_frame_ = frame;
  terminal_.write(text);
}

std::string WatchScreen::head(const watch::Trace& trace) const {
  const auto& hello = *trace.hello();
  const std::size_t shown = series(trace);
  const auto& its = hello.series[shown];
  std::string text = fmt::format("[{}/{}] {}", shown + 1, hello.series.size(), base::printable(its.name));
  if (!its.refused.empty()) return text + ": not counted: " + base::printable(its.refused);
  if (!trace.intervals().empty()) text += ": " + value_text(trace.intervals().back().values[shown]);
  const auto& sum = trace.sums()[shown];
  if (sum.counted > 0)
    text += fmt::format("   mean {:.4g}   {:.4g} to {:.4g}", sum.mean(), sum.least, sum.greatest);
  if (!trace.intervals().empty() && !trace.intervals().back().shares.empty() &&
      trace.intervals().back().shares[shown] < 1)
    text += fmt::format("   counted {:.1f} % of the time", 100 * trace.intervals().back().shares[shown]);
  for (const auto& section : trace.open())
    text += "   in " + base::printable(section);
  return text;
}

std::string WatchScreen::frame(const watch::Trace& trace) {
  plot::TextSize size = terminal_.size();
  size.columns = std::clamp(size.columns - 1, 40L, 240L);
  size.rows = std::clamp(size.rows - 3, 8L, 24L);
  const auto width_of = static_cast<std::size_t>(size.columns);
  std::string keys = "keys: n next, p previous, space hold, ";
  keys += may_quit_ ? "q quit" : "Ctrl-C end";
  if (held_) keys += "   (held)";
  if (trace.dropped() > 0) keys += "   " + base::format_count(trace.dropped(), "line") + " missed";
  if (trace.dropped_by_program() > 0)
    keys += "   " + base::format_count(trace.dropped_by_program(), "mark") + " dropped by the program";
  return command::shortened(head(trace), width_of) + "\n" +
         command::own_controls(plot::draw_live(
             curve_of(trace, series(trace), window_, static_cast<double>(size.columns)), size)) +
         command::shortened(keys, width_of) + "\n";
}

void WatchScreen::draw(const watch::Trace& trace) {
  due_ = true;
  if (gone() || !trouble_.empty() || !trace.hello() || trace.hello()->series.empty()) return;
  // A stalled terminal gets the newest frame when it goes on, and none of those between.
  if (terminal_.busy() || (held_ && !pressed_) || Screenclock::now() < next_) return;
  due_ = pressed_ = false;
  next_ = Screenclock::now() + between_frames;
  try {
    show(frame(trace));
  } catch (const Error& error) {
    trouble_ = error.problem().subject + ": " + error.problem().cause;
    show("");
  }
}

void WatchScreen::finish(const watch::Trace& trace) {
  take_output(4 * most_above); // all that a pipe may still hold
  ours_.reset();
  above_ += partial_;
  partial_.clear();
  held_ = false;
  next_ = {};
  draw(trace);
  if (!above_.empty()) show(last_frame_);
}

} // namespace recount::watch
