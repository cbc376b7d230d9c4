// Local display of a watch: a figure on a terminal, lines, or JSON lines.
#pragma once

#include "watch/lines.hpp"
#include "watch/screen.hpp"
#include "watch/trace.hpp"

#include <cstdio>
#include <memory>
#include <poll.h>
#include <string>
#include <vector>

namespace recount::watch {

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
