// The figure of a sweep: a file when it ends, or the terminal while it goes on.
#pragma once

#include "result/read.hpp"

#include <chrono>
#include <string>

namespace recount::cli {

/// One --plot option, past check_outputs(). Checks the name of the figure at once.
class SweepPlot {
public:
  /// `path`: empty: none; "-": text on stdout, redrawn while it is a terminal. Throws recount::Error
  /// (bad_input).
  SweepPlot(std::string path, std::string figure);
  [[nodiscard]] bool live() const { return live_; }
  /// Draws again if the last time was long enough ago; what cannot be drawn yet is left for later.
  void refresh(const result::Results& results);
  /// Draws for good. Throws recount::Error as figure::draw() does.
  void finish(const result::Results& results);

private:
  [[nodiscard]] std::string text(const result::Results& results) const;

  std::string path_, figure_;
  bool live_ = false;
  std::chrono::steady_clock::time_point next_{};
};

} // namespace recount::cli
