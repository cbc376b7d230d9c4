// The live figure on a terminal: one curve at a time, the command's own output above it.
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

namespace recount::cli {

class WatchScreen {
public:
  /// `window`: how many seconds are shown. `may_quit`: the key q ends the watching.
  WatchScreen(double window, bool may_quit) : window_(window), may_quit_(may_quit) {}

  /// Where the command should write, so that its lines stand above the figure; read by this.
  [[nodiscard]] int output();
  void started(); ///< the command has its own copy of it

  void polled(std::vector<pollfd>& into) const;
  void serve(const watch::Trace& trace);
  void say(const std::string& text) { above_ += terminal_text(text); } ///< lines that stand above the figure
  void draw(const watch::Trace& trace);                                ///< unless it was drawn a moment ago
  /// What is left of the command's output, and the figure for the last time.
  void finish(const watch::Trace& trace);

  /// Words below the last figure; waits a moment for a terminal that is slow.
  void close(const std::string& text) { terminal_.write(terminal_text(text)); }

  [[nodiscard]] bool takes_keys() const noexcept { return terminal_.takes_keys(); }
  void hang_up() noexcept { terminal_.hang_up(); }
  [[nodiscard]] bool gone() const noexcept { return terminal_.gone(); }
  [[nodiscard]] bool quit() const noexcept { return quit_; } ///< q was pressed
  /// Why nothing can be drawn (gnuplot is missing); empty: it can.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

private:
  void press(char key, const watch::Trace& trace);
  void take_output(std::size_t most);
  void show(const std::string& frame);
  [[nodiscard]] std::string frame(const watch::Trace& trace);
  [[nodiscard]] std::size_t series(const watch::Trace& trace) const;
  [[nodiscard]] std::string head(const watch::Trace& trace) const;

  Terminal terminal_;
  double window_;
  bool may_quit_;
  std::optional<std::size_t> series_; ///< the one that is shown; none yet: the first that has values
  bool quit_ = false, held_ = false, due_ = false, pressed_ = false;
  std::string trouble_, above_, partial_, last_frame_;
  long lines_ = 0; ///< of the frame on the screen
  process::Fd ours_, theirs_;
  std::chrono::steady_clock::time_point next_{};
};

} // namespace recount::cli
