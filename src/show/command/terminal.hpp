// A terminal for drawing and reading keys; its settings are restored on every exit.
#pragma once

#include "base/process/fd.hpp"
#include "show/plot/sheet.hpp"

#include <poll.h>

#include <string>
#include <vector>

namespace recount::command {

/// During its lifetime, keys are read one by one and not echoed. Ctrl-C and Ctrl-Z work as usual; the
/// terminal settings are restored before Ctrl-Z stops this process. Output never blocks: text that a stalled
/// terminal does not accept is buffered; draw the next frame when busy() is false. At most one object. Not
/// thread-safe.
class Terminal {
public:
  /// Whether standard error is a terminal that can draw, with this job in its foreground.
  [[nodiscard]] static bool available();
  /// Draws on standard error. Reads keys from standard input if that is a terminal as well.
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] bool takes_keys() const noexcept { return keys_; }
  /// Appends the descriptors to wait for before serve().
  void add_descriptors(std::vector<pollfd>& polled) const;
  /// Writes buffered output. Returns the keys that were pressed.
  [[nodiscard]] std::string serve();

  void write(const std::string& text);
  [[nodiscard]] bool busy() const noexcept { return !pending_.empty(); } ///< output is buffered
  [[nodiscard]] bool gone() const noexcept { return gone_; }             ///< hung up: output is discarded
  void hang_up() noexcept { gone_ = true; }
  [[nodiscard]] plot::TextSize size() const;

private:
  void flush();
  process::Fd out_;
  bool keys_ = false, gone_ = false;
  std::string pending_;
};

/// The size for a figure on stdout: that of the terminal, else COLUMNS and LINES, else 80 by 24; in colour as
/// colour(stdout).
[[nodiscard]] plot::TextSize terminal_size();

} // namespace recount::command
