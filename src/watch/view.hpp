// How a watch is shown here: a figure on a terminal, lines, or JSON lines.
#pragma once

#include "watch/lines.hpp"
#include "watch/screen.hpp"
#include "watch/trace.hpp"

#include <cstdio>
#include <memory>
#include <poll.h>
#include <vector>

namespace recount::cli {

struct ViewSettings {
  bool json = false, plain = false; ///< lines, on a terminal as well
  double window = 60;               ///< seconds
  bool may_quit = false;            ///< the key q ends the watching
  std::FILE* lines = stderr;        ///< where lines for people go
};

/// Never waits for whoever looks. Not thread-safe.
class WatchView {
public:
  explicit WatchView(const ViewSettings& settings);

  void add(const watch::Message& message);
  void note(const std::string& text); ///< a line with its end
  void polled(std::vector<pollfd>& into) const;
  void ready();
  void hang_up(); ///< the terminal has gone
  void finish();  ///< what is left, and the summary

  /// Where the command must write so that its lines do not end up in the figure; -1: wherever it likes.
  [[nodiscard]] int command_output();
  void command_started();
  [[nodiscard]] bool takes_keys() const; ///< the standard input is ours, then
  [[nodiscard]] const watch::Trace& trace() const noexcept { return trace_; }
  [[nodiscard]] bool gone() const; ///< nobody looks any more
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

} // namespace recount::cli
