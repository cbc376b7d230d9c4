// The local display of a watch: a figure on a terminal, lines, or JSON lines.
#pragma once

#include "commands/watch/message.hpp"
#include "show/command/output.hpp"
#include "show/plot/sheet.hpp"

#include <poll.h>

#include <cstdio>
#include <memory>
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
  WatchView() = default;
  WatchView(const WatchView&) = delete;
  WatchView& operator=(const WatchView&) = delete;
  virtual ~WatchView() = default;

  void add(const Message& message) {
    if (trace_.add(message)) show(message);
  }
  [[nodiscard]] const Trace& trace() const noexcept { return trace_; }

  virtual void note(const std::string& text) = 0;    ///< lines for the user, each with its end
  virtual void polled(std::vector<pollfd>&) const {} ///< adds the descriptors to poll
  virtual void ready() {}                            ///< called after poll(2): reads keys and output, draws
  virtual void hang_up() = 0;                        ///< the terminal hung up
  virtual void finish() = 0;                         ///< prints pending output and the summary
  /// Descriptor for the output of the command, so that it does not overwrite the figure; -1: inherited.
  [[nodiscard]] virtual int command_output() { return -1; }
  virtual void command_started() {} ///< closes the end of the pipe that the command has inherited
  /// Whether keys are read from standard input, which the command must not read then.
  [[nodiscard]] virtual bool takes_keys() const { return false; }
  [[nodiscard]] virtual bool gone() const = 0;              ///< the output was closed
  [[nodiscard]] virtual bool quit() const { return false; } ///< q was pressed
  /// Throws Error (unavailable) after a failed write, for example to a full disk.
  virtual void check() const {}

protected:
  virtual void show(const Message& message) = 0;
  Trace trace_;
};

/// JSON lines if they are requested, a figure on a terminal with gnuplot, else lines.
[[nodiscard]] std::unique_ptr<WatchView> make_view(const ViewSettings& settings);

/// Mean, minimum and maximum of each series that can be counted.
[[nodiscard]] show::Table watch_means(const Trace& trace);

/// Shows the watch at the address until it ends, or until a signal or the key q. Returns the exit status.
/// Throws Error: unavailable if the connection fails or breaks, bad_input if the peer sends invalid lines.
int watch_remotely(const std::string& address, const ViewSettings& settings);

// The figure of a watch: rates over time, one panel per metric, with shaded sections.

/// Of the first repetition of the first run that has intervals. Throws Error (bad_input) where there are
/// none.
[[nodiscard]] plot::Sheet compose_over_time(const result::Results& results, const plot::Choice& choice);

/// The figure "trace".
[[nodiscard]] plot::Figure trace_figure();

} // namespace recount::watch
