#include "watch/watch_view.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "plot/live.hpp"
#include "process/spawn.hpp"
#include "process/waiter.hpp"
#include "watch/hub.hpp"
#include "watch/viewer.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <map>

namespace recount::watch {

WatchView::WatchView(const ViewSettings& settings) : settings_(settings) {
  const bool figure = !settings.json && !settings.plain && command::Terminal::there();
  if (figure && process::find_program("gnuplot")) {
    screen_ = std::make_unique<WatchScreen>(settings.window, settings.may_quit);
    return;
  }
  lines_ =
      std::make_unique<WatchLines>(settings.json ? STDOUT_FILENO : ::fileno(settings.lines), settings.json);
  if (figure)
    lines_->say("recount watch: gnuplot not found in PATH: printing lines instead of a figure "
                "(Debian: apt-get install gnuplot-nox)\n");
}

void WatchView::add(const watch::Message& message) {
  if (!trace_.add(message)) return;
  if (lines_) return lines_->add(message, trace_);
  if (!screen_->trouble().empty() && std::holds_alternative<watch::Interval>(message))
    screen_->say(watch_line(message, trace_, trace_.number_of_intervals() % 40 == 1));
  screen_->draw(trace_);
}

void WatchView::note(const std::string& text) {
  if (lines_) return lines_->say(text);
  finished_ ? screen_->close(text) : screen_->say(text);
}

void WatchView::polled(std::vector<pollfd>& into) const {
  if (screen_) screen_->polled(into);
}

void WatchView::ready() {
  if (screen_) screen_->serve(trace_);
}

void WatchView::hang_up() {
  if (screen_) return screen_->hang_up();
  if (!settings_.json && ::isatty(::fileno(settings_.lines)) == 1) lines_->hang_up();
}

void WatchView::finish() {
  finished_ = true;
  if (screen_) {
    screen_->finish(trace_);
    if (!screen_->trouble().empty()) screen_->say("recount watch: no figure: " + screen_->trouble() + "\n");
    screen_->close(watch_summary(trace_, stderr));
  } else {
    lines_->say(watch_summary(trace_, settings_.lines));
  }
}

int WatchView::command_output() {
  return screen_ ? screen_->output() : -1;
}

void WatchView::command_started() {
  if (screen_) screen_->started();
}

bool WatchView::takes_keys() const {
  return screen_ && screen_->takes_keys();
}

bool WatchView::gone() const {
  return screen_ ? screen_->gone() : lines_->gone();
}

void WatchView::check() const {
  if (lines_ && lines_->failure() != 0)
    throw unavailable("output of recount watch",
                      std::string("cannot be written: ") + std::strerror(lines_->failure()));
}

namespace {
constexpr int lines_between_heads = 40;
constexpr std::size_t narrowest = 12;

/// Of columns only those that can have values.
std::vector<std::size_t> columns_of(const watch::Hello& hello) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < hello.series.size(); ++i)
    if (hello.series[i].refused.empty()) columns.push_back(i);
  return columns;
}

std::string column_head(const watch::Series& series) {
  return fmt::format("{} ({})", base::printable(series.name), base::printable(series.unit));
}

std::string right_aligned(const std::string& text, std::size_t columns) {
  return std::string(columns > command::width(text) ? columns - command::width(text) : 0, ' ') + text;
}

std::string heads(const watch::Hello& hello) {
  std::string line = fmt::format("{:>10}", "s");
  for (const std::size_t i : columns_of(hello))
    line += "  " + right_aligned(column_head(hello.series[i]), narrowest);
  return line + "\n";
}

std::string row(const watch::Interval& interval, const watch::Hello& hello) {
  std::string line = fmt::format("{:>10.3f}", interval.end);
  for (const std::size_t i : columns_of(hello)) {
    const auto& value = interval.values[i];
    line += "  " + right_aligned(value ? fmt::format("{:.5g}", *value) : "-",
                                 std::max(narrowest, command::width(column_head(hello.series[i]))));
  }
  return line + "\n";
}

/// What a reader of a mean must know.
std::string doubts(const watch::Trace::Sum& sum, std::uint64_t intervals) {
  std::string text;
  if (sum.share < 1) text = fmt::format("counted {:.1f} % of the time at least", 100 * sum.share);
  if (intervals > sum.counted)
    text += fmt::format("{}{} of {} without a value", text.empty() ? "" : ", ", intervals - sum.counted,
                        base::format_count(intervals, "interval"));
  return text;
}

std::string hello_lines(const watch::Hello& hello) {
  std::string text =
      fmt::format("watching {}, every {} ms\n", base::printable(hello.subject), hello.interval_ms);
  for (const auto& series : hello.series)
    if (!series.mark.empty())
      text += fmt::format("  {}: {}\n", base::printable(series.name), base::printable(series.mark));
  return text;
}

std::string section_line(const watch::Section& section) {
  constexpr const char* edges[] = {"begins", "ends", "mark"};
  return fmt::format("{:>10.3f}  {} {}\n", section.time, base::printable(section.name),
                     edges[static_cast<int>(section.edge)]);
}
} // namespace

std::string watch_line(const watch::Message& message, const watch::Trace& trace, bool head) {
  if (const auto* hello = std::get_if<watch::Hello>(&message)) return hello_lines(*hello);
  if (const auto* section = std::get_if<watch::Section>(&message)) return section_line(*section);
  if (const auto* end = std::get_if<watch::End>(&message)) return base::printable(end->reason) + "\n";
  if (const auto* dropped = std::get_if<watch::Dropped>(&message))
    return fmt::format("{} {}\n", dropped->lines,
                       dropped->by_program ? "marks dropped by the program" : "lines missed");
  if (!trace.hello() || columns_of(*trace.hello()).empty()) return {};
  return (head ? heads(*trace.hello()) : "") + row(std::get<watch::Interval>(message), *trace.hello());
}

command::Table watch_means(const watch::Trace& trace) {
  using Align = command::Table::Align;
  std::vector<command::Table::Column> columns{
      {"series"}, {"mean", Align::right}, {"least", Align::right}, {"greatest", Align::right}, {"unit"},
      {""}};
  const bool marked = trace.hello() && std::ranges::any_of(trace.hello()->series, [](const auto& series) {
                        return !series.mark.empty();
                      });
  if (marked) columns.push_back({"verdict"});
  command::Table table(std::move(columns), "Means over the intervals");
  if (!trace.hello()) return table;
  const auto number = [](double value) { return fmt::format("{:.5g}", value); };
  for (std::size_t i = 0; i < trace.sums().size(); ++i) {
    const auto& series = trace.hello()->series[i];
    const auto& sum = trace.sums()[i];
    if (!series.refused.empty()) continue;
    if (sum.counted == 0) {
      table.add({"  " + base::printable(series.name), "-", "-", "-", base::printable(series.unit),
                 "never counted"});
    } else {
      std::vector<std::string> cells{"  " + base::printable(series.name),
                                     number(sum.mean()),
                                     number(sum.least),
                                     number(sum.greatest),
                                     base::printable(series.unit),
                                     doubts(sum, trace.number_of_intervals())};
      if (marked) cells.push_back(command::in_parentheses(base::printable(series.mark)));
      table.add(std::move(cells));
    }
  }
  return table;
}

std::string watch_summary(const watch::Trace& trace, std::FILE* stream) {
  if (!trace.hello()) return {};
  std::map<std::string, std::string> refused;
  for (const auto& series : trace.hello()->series) {
    if (series.refused.empty()) continue;
    std::string& names = refused[base::printable(command::brief(series.refused))];
    names += (names.empty() ? "" : ", ") + base::printable(series.name);
  }
  const command::Table table = watch_means(trace);
  std::string text = base::printable(trace.hello()->subject) + ": " +
                     base::format_count(trace.number_of_intervals(), "interval");
  if (trace.end()) text += ", " + base::printable(trace.end()->reason);
  text = command::fit(text, command::line_width(stream), 2) + "\n" +
         (table.empty() ? std::string() : table.text(stream));
  for (const auto& [why, names] : refused)
    text += "  " +
            command::wrap(fmt::format("not counted: {}: {}", names, why), command::line_width(stream), 4) +
            "\n";
  if (trace.dropped() > 0)
    text += "  " + base::format_count(trace.dropped(), "line") + " missed: this viewer was too slow\n";
  if (trace.dropped_by_program() > 0)
    text += "  " + base::format_count(trace.dropped_by_program(), "mark") + " dropped by the program\n";
  return text;
}

void WatchLines::add(const watch::Message& message, const watch::Trace& trace) {
  if (json_) return put(watch::to_line(message) + "\n");
  const bool interval = std::holds_alternative<watch::Interval>(message);
  put(watch_line(message, trace, since_head_ == 0));
  if (interval) since_head_ = (since_head_ + 1) % lines_between_heads;
}

void WatchLines::say(const std::string& text) {
  if (!json_) put(text);
}

void WatchLines::put(const std::string& text) {
  if (gone_ || text.empty()) return;
  // POLLOUT on a pipe guarantees a page, which is longer than most lines.
  pollfd writable{fd_, POLLOUT, 0};
  if (::poll(&writable, 1, 0) != 1) {
    ++missed_;
    return;
  }
  std::string all = text;
  if (missed_ > 0)
    all = (json_ ? watch::to_line(watch::Dropped{missed_, false}) + "\n"
                 : watch_line(watch::Dropped{missed_, false}, watch::Trace(), false)) +
          text;
  missed_ = 0;
  all = command::terminal_text(all);
  for (std::string_view rest = all; !rest.empty();) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) { // another process set O_NONBLOCK: the line is cut
      ++missed_;
      return;
    }
    if (n < 0) {
      gone_ = true;
      failure_ = errno == EPIPE || errno == EIO ? 0 : errno;
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

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

namespace {

class RemoteWatch {
public:
  RemoteWatch(const std::string& address, const ViewSettings& settings)
      : address_(address), view_(settings), socket_(watch::connect_to(address)) {}

  int run() {
    bool stopped = false;
    while (!stopped && !ended_ && state_ == watch::LineReader::State::open)
      stopped = turn();
    view_.finish();
    view_.check();
    if (stopped || ended_) return 0;
    if (state_ == watch::LineReader::State::nonsense)
      throw bad_input(address_, "sent an invalid line",
                      "connect to a recount watch --listen of the same version");
    throw unavailable(address_, "the connection was closed before the end");
  }

private:
  /// True: enough.
  bool turn() {
    std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
    view_.polled(polled);
    ::poll(polled.data(), polled.size(), -1);
    if (const int signal = process::forward(signals_, nullptr); signal != 0) {
      if (signal == SIGHUP) view_.hang_up();
      return true;
    }
    if (polled[1].revents != 0)
      state_ = reader_.read(socket_.get(), [this](const watch::Message& message) {
        view_.add(message);
        ended_ = ended_ || std::holds_alternative<watch::End>(message);
      });
    view_.ready();
    return view_.quit() || view_.gone();
  }

  const std::string& address_;
  process::HeldSignals signals_;
  WatchView view_;
  process::Fd socket_;
  watch::LineReader reader_;
  watch::LineReader::State state_ = watch::LineReader::State::open;
  bool ended_ = false;
};

} // namespace

int watch_remotely(const std::string& address, const ViewSettings& settings) {
  return RemoteWatch(address, settings).run();
}

} // namespace recount::watch
