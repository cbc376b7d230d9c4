// The live figure on a terminal: one curve at a time, below the output of the command.
#pragma once

#include "command/print.hpp"
#include "command/terminal.hpp"
#include "process/fd.hpp"
#include "watch/trace.hpp"

#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace recount::watch {

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

} // namespace recount::watch
