// A watch as lines: for people, or as JSON.
#pragma once

#include "command/output.hpp"
#include "command/print.hpp"
#include "command/terminal.hpp"
#include "process/fd.hpp"
#include "watch/message.hpp"

#include <poll.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recount::watch {

/// Writes lines to a descriptor without blocking: lines that do not fit are dropped and counted.
class WatchLines {
public:
  WatchLines(int fd, bool json) : fd_(fd), json_(json) {}
  void add(const watch::Message& message, const watch::Trace& trace);
  void say(const std::string& text);                         ///< lines with their ends
  [[nodiscard]] bool gone() const noexcept { return gone_; } ///< the reader has closed its end
  void hang_up() noexcept { gone_ = true; }
  /// The errno of a failed write (a full disk); 0 if the reader has closed its end.
  [[nodiscard]] int failure() const noexcept { return failure_; }

private:
  void put(const std::string& text);
  int fd_;
  bool json_, gone_ = false;
  std::uint64_t missed_ = 0; ///< lines dropped since the last report
  int since_head_ = 0, failure_ = 0;
};

/// One line of text; preceded by column headings when due.
[[nodiscard]] std::string watch_line(const watch::Message& message, const watch::Trace& trace, bool head);

/// A row for each series that can be counted.
[[nodiscard]] command::Table watch_means(const watch::Trace& trace);
/// Summary: mean, minimum and maximum per series, and what was not counted.
[[nodiscard]] std::string watch_summary(const watch::Trace& trace, std::FILE* stream);

// The live figure on a terminal: one curve at a time, below the output of the command.

class WatchScreen {
public:
  /// `window`: displayed time span in seconds. `may_quit`: the key q ends the watch.
  WatchScreen(double window, bool may_quit) : window_(window), may_quit_(may_quit) {}

  /// Descriptor for the output of the command, which is shown above the figure.
  [[nodiscard]] int output();
  void started(); ///< the command holds its own copy

  void polled(std::vector<pollfd>& into) const;
  void serve(const watch::Trace& trace);
  void say(const std::string& text) {
    above_ += command::terminal_text(text);
  }                                     ///< lines printed above the figure
  void draw(const watch::Trace& trace); ///< rate-limited
  /// Prints the remaining output of the command and the last figure.
  void finish(const watch::Trace& trace);

  /// Text below the last figure; waits briefly for a slow terminal.
  void close(const std::string& text) { terminal_.write(command::terminal_text(text)); }

  [[nodiscard]] bool takes_keys() const noexcept { return terminal_.takes_keys(); }
  void hang_up() noexcept { terminal_.hang_up(); }
  [[nodiscard]] bool gone() const noexcept { return terminal_.gone(); }
  [[nodiscard]] bool quit() const noexcept { return quit_; } ///< q was pressed
  /// Why no figure can be drawn (gnuplot is missing); empty: no problem.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

private:
  void press(char key, const watch::Trace& trace);
  void take_output(std::size_t most);
  void show(const std::string& frame);
  [[nodiscard]] std::string frame(const watch::Trace& trace);
  [[nodiscard]] std::size_t series(const watch::Trace& trace) const;
  [[nodiscard]] std::string head(const watch::Trace& trace) const;

  command::Terminal terminal_;
  double window_;
  bool may_quit_;
  std::optional<std::size_t> series_; ///< the displayed one; none: the first with values
  bool quit_ = false, held_ = false, due_ = false, pressed_ = false;
  std::string trouble_, above_, partial_, last_frame_;
  long lines_ = 0; ///< of the frame on the screen
  process::Fd ours_, theirs_;
  std::chrono::steady_clock::time_point next_{};
};

// Local display of a watch: a figure on a terminal, lines, or JSON lines.

struct ViewSettings {
  bool json = false, plain = false; ///< lines, on a terminal as well
  double window = 60;               ///< seconds
  bool may_quit = false;            ///< the key q ends the watch
  std::FILE* lines = stderr;        ///< where lines for people go
};

/// Never blocks. Not thread-safe.
class WatchView {
public:
  explicit WatchView(const ViewSettings& settings);

  void add(const watch::Message& message);
  void note(const std::string& text); ///< a line with its end
  void polled(std::vector<pollfd>& into) const;
  void ready();
  void hang_up(); ///< the terminal hung up
  void finish();  ///< prints pending output and the summary

  /// Descriptor for the output of the command, so that it does not overwrite the figure; -1: inherited.
  [[nodiscard]] int command_output();
  void command_started();
  [[nodiscard]] bool takes_keys() const; ///< recount then reads standard input
  [[nodiscard]] const watch::Trace& trace() const noexcept { return trace_; }
  [[nodiscard]] bool gone() const; ///< the output was closed
  [[nodiscard]] bool quit() const { return screen_ && screen_->quit(); }
  /// Throws Error (unavailable) when lines could not be written, to a full disk.
  void check() const;

private:
  ViewSettings settings_;
  watch::Trace trace_;
  bool finished_ = false;
  std::unique_ptr<WatchScreen> screen_;
  std::unique_ptr<WatchLines> lines_;
};

/// Shows the watch at the address until it ends, or until a signal or the key q. Returns the exit status.
/// Throws Error: unavailable if the connection fails or breaks, bad_input if the peer sends invalid lines.
int watch_remotely(const std::string& address, const ViewSettings& settings);

} // namespace recount::watch
