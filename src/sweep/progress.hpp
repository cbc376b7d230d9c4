// How far a sweep is: one line on a terminal, a line a minute elsewhere.
#pragma once

#include "sweep/engine.hpp"

#include <chrono>
#include <string>

namespace recount::sweep {

/// "12 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string show_time(std::chrono::nanoseconds time);

/// The same of any number of seconds.
[[nodiscard]] std::string format_seconds(double seconds);

/// "37 of 120 runs, 2 failed, 12 s, about 25 s left".
[[nodiscard]] std::string show_progress(const sweep::Progress& progress);

/// Writes to stderr. On a terminal the line is written over itself, ten times a second at most.
class ProgressLine {
public:
  explicit ProgressLine(bool quiet, std::string command = "sweep");
  void show(const sweep::Progress& progress);
  void clear(); ///< before anything else is written to the terminal

private:
  std::string command_;
  bool quiet_, terminal_, shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

} // namespace recount::sweep
