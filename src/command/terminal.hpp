// A terminal for drawing and reading keys; its settings are restored on every exit.
#pragma once

#include "plot/sheet.hpp"
#include "process/fd.hpp"

#include <poll.h>

#include <string>
#include <vector>

namespace recount::command {

/// Keys arrive one by one and are not echoed while it lives; Ctrl-C and Ctrl-Z do what they always do, and
/// the settings are put back before the latter stops us. Writing never waits: what a stalled terminal does
/// not take is kept, and drawing waits until it is gone. At most one object. Not thread-safe.
class Terminal {
public:
  /// The terminal behind the standard error, with keys from the standard input if that is a terminal as well;
  /// none when there is none, or another job is in its foreground.
  [[nodiscard]] static bool there();
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] bool takes_keys() const noexcept { return keys_; }
  void polled(std::vector<pollfd>& into) const;
  /// Writes on; the keys that were pressed.
  [[nodiscard]] std::string serve();

  void write(const std::string& text);
  [[nodiscard]] bool busy() const noexcept { return !pending_.empty(); } ///< it has not taken everything yet
  [[nodiscard]] bool gone() const noexcept { return gone_; } ///< hung up: nothing is written any more
  void hang_up() noexcept { gone_ = true; }
  [[nodiscard]] plot::TextSize size() const;

private:
  void flush();
  process::Fd out_;
  bool keys_ = false, gone_ = false;
  std::string pending_;
};

// How large the terminal is that a figure is drawn on.

/// That of stdout, else COLUMNS and LINES, else 80 by 24; in colour as colour(stdout).
[[nodiscard]] plot::TextSize terminal_size();

} // namespace recount::command
