#include "commands/watch/watch_view.hpp"

#include "base/format.hpp"
#include "base/process/child.hpp"
#include "base/process/waiter.hpp"
#include "base/text.hpp"
#include "commands/watch/hub.hpp"
#include "show/command/measuring.hpp"
#include "show/command/print.hpp"
#include "show/command/terminal.hpp"
#include "show/plot/sheet.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace recount::watch {
namespace {
using Clock = std::chrono::steady_clock;
constexpr int lines_between_heads = 40;

/// An interval, of the series that fit into a line.
struct IntervalText {
  std::string heads, units, values;
  std::vector<std::string> left_out;
};

/// Columns are as wide as their heads, at least. `narrow`: short names, with the units on a line below. One
/// series has its column however narrow the line is.
IntervalText interval_text(const Interval& interval, const Hello& hello, std::size_t columns, bool narrow) {
  constexpr std::size_t narrowest = 12;
  const std::size_t time = narrow ? 7 : 10;
  IntervalText text{fmt::format("{:>{}}", "s", time),
                    std::string(time, ' '),
                    fmt::format("{:>{}.3f}", interval.end, time),
                    {}};
  for (std::size_t i = 0; i < hello.series.size(); ++i) {
    const Series& series = hello.series[i];
    if (!series.refused.empty()) continue;
    const std::string name = base::printable(series.name), unit = base::printable(series.unit);
    const std::string head =
        narrow ? command::shortened(name.substr(name.starts_with("perf::") ? 6 : 0), columns - time - 2)
               : fmt::format("{} ({})", name, unit);
    const std::size_t wide = std::max(narrowest, command::width(head)), used = text.values.size();
    if (used > time && (!text.left_out.empty() || used + 2 + wide > columns)) {
      text.left_out.push_back(name);
      continue;
    }
    const auto& value = interval.values[i];
    text.heads += fmt::format("  {:>{}}", head, wide);
    text.units += fmt::format("  {:>{}}", command::shortened(unit, wide), wide);
    text.values += fmt::format("  {:>{}}", value ? fmt::format("{:.5g}", *value) : "-", wide);
  }
  if (text.values.size() == time) return {};
  return text;
}

/// Values of the series that can have some, after the heads of the columns if `head`, which name the series
/// that are left out. Of a file or a pipe, a line has all series.
std::string interval_lines(const Interval& interval, const Hello& hello, bool head, std::FILE* stream) {
  const std::size_t columns = command::line_width(stream, std::numeric_limits<std::size_t>::max());
  IntervalText text = interval_text(interval, hello, columns, false);
  if (!text.left_out.empty() || text.heads.size() > columns) {
    text = interval_text(interval, hello, columns, true);
    text.heads += "\n" + text.units;
  }
  if (text.values.empty()) return {};
  if (!text.left_out.empty())
    text.heads.insert(
        0, command::wrap(fmt::format("left out: {}", fmt::join(text.left_out, ", ")), columns, 2) + "\n");
  return (head ? text.heads + "\n" : "") + text.values + "\n";
}

/// Limitations of a mean.
std::string limitations(const Trace::Sum& sum, std::uint64_t intervals) {
  if (sum.counted == 0) return "never counted";
  std::vector<std::string> all;
  if (sum.share < 1) all.push_back(fmt::format("counted {:.1f} % of the time at least", 100 * sum.share));
  if (intervals > sum.counted)
    all.push_back(fmt::format("{} of {} without a value", intervals - sum.counted,
                              base::format_count(intervals, "interval")));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string hello_lines(const Hello& hello) {
  return fmt::format("watching {}, every {} ms\n", base::printable(hello.subject), hello.interval_ms);
}

/// Lines of text; `head`: an interval is preceded by column headings. `stream`: where they go.
std::string message_lines(const Message& message, const Trace& trace, bool head, std::FILE* stream) {
  if (const auto* hello = std::get_if<Hello>(&message)) return hello_lines(*hello);
  if (const auto* section = std::get_if<Section>(&message)) {
    constexpr const char* verbs[] = {"begins", "ends", "mark"};
    return fmt::format("{:>10.3f}  {} {}\n", section->time, base::printable(section->name),
                       verbs[static_cast<int>(section->edge)]);
  }
  if (const auto* end = std::get_if<End>(&message)) return base::printable(end->reason) + "\n";
  if (const auto* dropped = std::get_if<Dropped>(&message))
    return fmt::format("{} {}\n", dropped->lines,
                       dropped->by_program ? "marks dropped by the program" : "lines missed");
  return interval_lines(std::get<Interval>(message), *trace.hello(), head, stream);
}
} // namespace

show::Table watch_means(const Trace& trace) {
  using enum show::Role;
  const std::vector<Series> all = trace.hello() ? trace.hello()->series : std::vector<Series>();
  show::Table table(
      {{"series"}, {"mean", number}, {"least", number, 2}, {"greatest", number, 1}, {"unit"}, {""}},
      "Means over the intervals");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Trace::Sum& sum = trace.sums()[i];
    const std::string limits = limitations(sum, trace.number_of_intervals());
    const bool counted = all[i].refused.empty() && sum.counted > 0;
    show::Datum datum{.keys = {},
                      .quantity = all[i].name,
                      .unit = all[i].unit,
                      .witness = "perf",
                      .repetitions = sum.counted,
                      .reason = counted ? limits : all[i].refused.text()};
    if (!counted) table.add_data({datum});
    if (counted)
      table.add_data({datum.with("mean over the intervals", sum.mean()),
                      datum.with("minimum over the intervals", sum.minimum),
                      datum.with("maximum over the intervals", sum.maximum)});
    if (!all[i].refused.empty()) continue;
    std::vector<show::Cell> cells{command::event_cell(base::printable(all[i].name))};
    for (const double value : {sum.mean(), sum.minimum, sum.maximum})
      cells.emplace_back(sum.counted > 0 ? fmt::format("{:.5g}", value) : "-",
                         sum.counted > 0 ? fmt::format("{:.3g}", value) : "-");
    cells.push_back(base::printable(all[i].unit));
    cells.push_back(limits);
    table.add(std::move(cells));
  }
  return table;
}

namespace {
/// The means, what was not counted and what was dropped.
std::string summary(const Trace& trace, std::FILE* stream) {
  if (!trace.hello()) return {};
  const std::size_t columns = command::line_width(stream);
  std::map<std::string, std::vector<std::string>> refused; // series by reason
  for (const auto& series : trace.hello()->series)
    if (!series.refused.empty())
      refused[base::printable(command::brief(series.refused))].push_back(base::printable(series.name));
  std::string title = base::printable(trace.hello()->subject) + ": " +
                      base::format_count(trace.number_of_intervals(), "interval");
  if (trace.end()) title += ", " + base::printable(trace.end()->reason);
  std::string text = command::fit(title, columns, 2) + "\n";
  if (const show::Table table = watch_means(trace); !table.empty())
    text += command::table_text(table, stream);
  for (const auto& [reason, names] : refused)
    text += "  " +
            command::wrap(fmt::format("not counted: {}: {}", fmt::join(names, ", "), reason), columns, 4) +
            "\n";
  if (trace.dropped() > 0)
    text += "  " + base::format_count(trace.dropped(), "line") + " missed: this viewer was too slow\n";
  if (trace.dropped_by_program() > 0)
    text += "  " + base::format_count(trace.dropped_by_program(), "mark") + " dropped by the program\n";
  return text;
}

/// Writes lines to a descriptor without blocking.
class LineView final : public WatchView {
public:
  explicit LineView(const ViewSettings& settings)
      : fd_(settings.json ? STDOUT_FILENO : ::fileno(settings.lines)), settings_(settings) {}

  void note(const std::string& text) override {
    if (!settings_.json) put(text);
  }
  void hang_up() override {
    if (!settings_.json && ::isatty(fd_) == 1) gone_ = true;
  }
  void finish() override { note(summary(trace_, settings_.lines)); }
  [[nodiscard]] bool gone() const override { return gone_; }
  void check() const override {
    if (failure_ != 0)
      throw unavailable("output of recount watch",
                        std::string("cannot be written: ") + std::strerror(failure_));
  }

private:
  void show(const Message& message) override {
    if (settings_.json) return put(to_line(message) + "\n");
    put(message_lines(message, trace_, since_head_ == 0, settings_.lines));
    if (std::holds_alternative<Interval>(message)) since_head_ = (since_head_ + 1) % lines_between_heads;
  }

  /// Lines that do not fit are dropped and counted.
  void put(const std::string& text) {
    if (gone_ || text.empty()) return;
    // POLLOUT on a pipe guarantees a page, which is longer than most lines.
    pollfd writable{fd_, POLLOUT, 0};
    if (::poll(&writable, 1, 0) != 1) {
      ++missed_;
      return;
    }
    const Dropped missed{std::exchange(missed_, 0), false};
    const std::string report = missed.lines == 0 ? ""
                               : settings_.json  ? to_line(missed) + "\n"
                                                 : message_lines(missed, trace_, false, settings_.lines);
    const std::string all = command::terminal_text(report + text);
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

  int fd_;
  ViewSettings settings_;
  bool gone_ = false;
  std::uint64_t missed_ = 0; ///< lines dropped since the last report
  int since_head_ = 0;
  int failure_ = 0; ///< errno of a failed write (a full disk); 0 if the reader has closed its end
};

/// The curve of one series over the last seconds, on so many columns.
plot::LiveCurve make_curve(const Trace& trace, std::size_t series, double window, double columns) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  constexpr double points_at_least = 20; // on the axis
  constexpr std::size_t max_marks = 40, longest_mark = 16;
  const Series& shown = trace.hello()->series[series];
  plot::LiveCurve curve{base::printable(shown.name + " (" + shown.unit + ")"), 0, window, {}, {}};
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
  // Ends, and marks that would overlap the previous name, have no name.
  const double second = columns / (curve.to - curve.from);
  double free_from = 0;
  for (const auto& section : trace.sections()) {
    if (section.time < curve.from) continue;
    const double at = (section.time - curve.from) * second;
    std::string label = command::shortened(base::printable(section.name), longest_mark);
    if (section.edge == Section::Edge::end || at < free_from) label.clear();
    if (!label.empty()) free_from = at + static_cast<double>(command::width(label)) + 1;
    curve.marks.push_back({section.time, label});
  }
  if (curve.marks.size() > max_marks) curve.marks.erase(curve.marks.begin(), curve.marks.end() - max_marks);
  return curve;
}

/// One curve at a time, below the output of the command.
class ScreenView final : public WatchView {
public:
  explicit ScreenView(const ViewSettings& settings) : settings_(settings) {}

  void note(const std::string& text) override {
    if (finished_)
      terminal_.write(command::terminal_text(text)); // waits briefly for a slow terminal
    else
      above_ += command::terminal_text(text);
  }

  void polled(std::vector<pollfd>& fds) const override {
    terminal_.add_descriptors(fds);
    // A stalled terminal makes the command wait, as it would without recount.
    if (read_end_ && above_.size() < max_above) fds.push_back({read_end_.get(), POLLIN, 0});
  }

  void ready() override {
    for (const char key : terminal_.serve())
      press(key);
    take_output(max_above);
    if (!above_.empty() && !terminal_.busy()) redraw(last_frame_);
    if (due_) draw();
  }
  void hang_up() override { terminal_.hang_up(); }

  void finish() override {
    take_output(4 * max_above); // all that a pipe may still hold
    read_end_.reset();
    above_ += partial_;
    partial_.clear();
    held_ = false;
    next_ = {};
    draw();
    if (!above_.empty()) redraw(last_frame_);
    finished_ = true;
    if (!trouble_.empty()) note("recount watch: no figure: " + trouble_ + "\n");
    note(summary(trace_, stderr));
  }

  [[nodiscard]] int command_output() override {
    if (!command_end_) {
      process::Pipe pipe;
      ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
      read_end_ = std::move(pipe.read);
      command_end_ = std::move(pipe.write);
    }
    return command_end_.get();
  }
  void command_started() override { command_end_.reset(); }
  [[nodiscard]] bool takes_keys() const override { return terminal_.takes_keys(); }
  [[nodiscard]] bool gone() const override { return terminal_.gone(); }
  [[nodiscard]] bool quit() const override { return quit_; }

private:
  void show(const Message& message) override {
    if (!trouble_.empty() && std::holds_alternative<Interval>(message))
      note(message_lines(message, trace_, trace_.number_of_intervals() % lines_between_heads == 1, stderr));
    draw();
  }

  /// Rate-limited.
  void draw() {
    due_ = true;
    if (gone() || !trouble_.empty() || !trace_.hello() || trace_.hello()->series.empty()) return;
    // A stalled terminal gets the newest frame when it goes on, and none of those between.
    if (terminal_.busy() || (held_ && !pressed_) || Clock::now() < next_) return;
    due_ = pressed_ = false;
    next_ = Clock::now() + std::chrono::milliseconds(200);
    try {
      redraw(frame());
    } catch (const Error& error) {
      trouble_ = error.problem().subject + ": " + error.problem().cause;
      redraw("");
    }
  }

  void press(char key) {
    const std::size_t count = trace_.hello() ? trace_.hello()->series.size() : 0;
    if (key == 'q' && settings_.may_quit) quit_ = true;
    if (key == ' ') held_ = !held_;
    if (count == 0) return;
    if (key == 'n' || key == '\t') series_ = (series() + 1) % count;
    if (key == 'p') series_ = (series() + count - 1) % count;
    const auto digit = static_cast<std::size_t>(key - '1');
    if (key >= '1' && key <= '9' && digit < count) series_ = digit;
    next_ = {}; // at once, and once when it is held
    due_ = pressed_ = true;
  }

  void take_output(std::size_t most) {
    constexpr std::size_t longest_partial = 4096; // of a line without end
    char bytes[16384];
    while (read_end_ && above_.size() < most) {
      const ssize_t n = ::read(read_end_.get(), bytes, sizeof bytes);
      if (n < 0) break;
      if (n == 0) read_end_.reset();
      partial_.append(bytes, static_cast<std::size_t>(n));
      const auto end = partial_.rfind('\n');
      const std::size_t whole = end != std::string::npos                      ? end + 1
                                : partial_.size() > longest_partial || n == 0 ? partial_.size()
                                                                              : 0;
      above_ += partial_.substr(0, whole);
      partial_.erase(0, whole);
    }
  }

  /// Erases the frame, writes the output of the command, and draws a frame below.
  void redraw(const std::string& frame) {
    std::string text = lines_ > 0 ? fmt::format("\033[{}A\r\033[J", lines_) : std::string();
    text += above_;
    if (!above_.empty() && above_.back() != '\n') text += '\n';
    above_.clear();
    text += command::terminal_text(frame);
    lines_ = std::count(frame.begin(), frame.end(), '\n');
    last_frame_ = frame;
    terminal_.write(text);
  }

  [[nodiscard]] std::string frame() const {
    plot::TextSize size = terminal_.size();
    size.columns = std::clamp(size.columns - 1, 40L, 240L);
    size.rows = std::clamp(size.rows - 3, 8L, 24L);
    const auto width_of = static_cast<std::size_t>(size.columns);
    std::string keys = "keys: n next, p previous, space hold, ";
    keys += settings_.may_quit ? "q quit" : "Ctrl-C end";
    if (held_) keys += "   (held)";
    if (trace_.dropped() > 0) keys += "   " + base::format_count(trace_.dropped(), "line") + " missed";
    if (trace_.dropped_by_program() > 0)
      keys += "   " + base::format_count(trace_.dropped_by_program(), "mark") + " dropped by the program";
    return command::shortened(head(), width_of) + "\n" +
           command::own_controls(plot::draw_live(
               make_curve(trace_, series(), settings_.window, static_cast<double>(size.columns)), size)) +
           command::shortened(keys, width_of) + "\n";
  }

  [[nodiscard]] std::size_t series() const {
    if (series_) return *series_;
    const auto& all = trace_.hello()->series;
    const auto first = std::ranges::find_if(all, [](const auto& s) { return s.refused.empty(); });
    return first == all.end() ? 0 : static_cast<std::size_t>(first - all.begin());
  }

  [[nodiscard]] std::string head() const {
    const auto& hello = *trace_.hello();
    const std::size_t shown = series();
    const Series& series = hello.series[shown];
    std::string text =
        fmt::format("[{}/{}] {}", shown + 1, hello.series.size(), base::printable(series.name));
    if (!series.refused.empty()) return text + ": not counted: " + base::printable(series.refused.cause);
    const Interval last = trace_.intervals().empty() ? Interval() : trace_.intervals().back();
    if (!last.values.empty())
      text += ": " + (last.values[shown] ? fmt::format("{:.4g}", *last.values[shown]) : "not counted");
    if (const auto& sum = trace_.sums()[shown]; sum.counted > 0)
      text += fmt::format("   mean {:.4g}   {:.4g} to {:.4g}", sum.mean(), sum.minimum, sum.maximum);
    if (const double share = last.shares.empty() ? 1 : last.shares[shown]; share < 1)
      text += fmt::format("   counted {:.1f} % of the time", 100 * share);
    for (const auto& section : trace_.open())
      text += "   in " + base::printable(section);
    return text;
  }

  static constexpr std::size_t max_above = 64 << 10; ///< bytes of output that wait for a slow terminal
  ViewSettings settings_;
  command::Terminal terminal_;
  std::optional<std::size_t> series_; ///< the displayed one; none: the first with values
  bool quit_ = false, held_ = false, due_ = false, pressed_ = false, finished_ = false;
  std::string trouble_; ///< why no figure can be drawn; empty: no problem
  std::string above_, partial_, last_frame_;
  long lines_ = 0; ///< of the frame on the screen
  process::Fd read_end_, command_end_;
  Clock::time_point next_{};
};

} // namespace

std::unique_ptr<WatchView> make_view(const ViewSettings& settings) {
  const bool figure = !settings.json && !settings.plain && command::Terminal::available();
  if (figure && process::find_program("gnuplot")) return std::make_unique<ScreenView>(settings);
  auto lines = std::make_unique<LineView>(settings);
  if (figure)
    lines->note("recount watch: gnuplot not found in PATH: printing lines instead of a figure "
                "(Debian: apt-get install gnuplot-nox)\n");
  return lines;
}

int watch_remotely(const std::string& address, const ViewSettings& settings) {
  const process::HeldSignals signals;
  const auto view = make_view(settings);
  const process::Fd socket = connect_to(address);
  LineReader reader;
  auto state = LineReader::State::open;
  bool stopped = false; // by a signal, q, or a closed output
  while (!stopped && !view->trace().end() && state == LineReader::State::open) {
    std::vector<pollfd> polled{{signals.fd(), POLLIN, 0}, {socket.get(), POLLIN, 0}};
    view->polled(polled);
    ::poll(polled.data(), polled.size(), -1);
    const int signal = process::forward(signals, nullptr);
    if (signal == SIGHUP) view->hang_up();
    if (signal == 0 && polled[1].revents != 0)
      state = reader.read(socket.get(), [&](const Message& message) { view->add(message); });
    if (signal == 0) view->ready();
    stopped = signal != 0 || view->quit() || view->gone();
  }
  view->finish();
  view->check();
  if (stopped || view->trace().end()) return 0;
  if (state == LineReader::State::invalid)
    throw bad_input(address, "sent an invalid line",
                    "connect to a recount watch --listen of the same version");
  throw unavailable(address, "the connection was closed before the end");
}

} // namespace recount::watch
