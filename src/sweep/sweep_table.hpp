// The sweeps in a report.
#pragma once

#include "document/section.hpp"
#include "plot/sheet.hpp"
#include "result/results_file.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace recount::sweep {

/// An appendix: every metric of every point, with its interval, accesses, and disturbed repetitions.
[[nodiscard]] document::Section values_section();

// The figure of a sweep: a file when it ends, or the terminal while it goes on.

/// One --plot option, past check_outputs(). Checks the name of the figure at once.
class SweepPlot {
public:
  /// `path`: empty: none; "-": text on stdout, redrawn while it is a terminal. Throws recount::Error
  /// (bad_input). `figures`: those to choose from; must outlive it.
  SweepPlot(std::string path, std::string figure, const std::vector<plot::Figure>& figures);
  [[nodiscard]] bool live() const { return live_; }
  /// Draws again if the last time was long enough ago; what cannot be drawn yet is left for later.
  void refresh(const result::Results& results);
  /// Draws for good. Throws recount::Error as plot::draw() does.
  void finish(const result::Results& results);

private:
  [[nodiscard]] plot::Sheet sheet(const result::Results& results) const;
  [[nodiscard]] std::string text(const result::Results& results) const;

  std::string path_, figure_;
  const std::vector<plot::Figure>& figures_;
  bool live_ = false;
  std::chrono::steady_clock::time_point next_{};
};

} // namespace recount::sweep
