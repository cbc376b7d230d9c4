#include "sweep/plot.hpp"
#include "command/output.hpp"
#include "command/plot_file.hpp"
#include "command/print.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <recount/error.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::sweep {
namespace {

using Clock = std::chrono::steady_clock;

plot::TextSize size_of_terminal() {
  plot::TextSize size;
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 2)
    size = {window.ws_col, window.ws_row - 2, false}; // room for the line of progress
  return size;
}

} // namespace

SweepPlot::SweepPlot(std::string path, std::string figure, const std::vector<plot::Figure>& figures)
    : path_(std::move(path)), figure_(std::move(figure)), figures_(figures) {
  if (!figure_.empty()) static_cast<void>(plot::find(figures_, figure_));
  if (path_.empty() && !figure_.empty())
    throw bad_input("--figure " + figure_, "there is nowhere to draw it", "add --plot FILE, or --plot -");
  live_ = path_ == "-" && ::isatty(STDOUT_FILENO) == 1;
}

plot::Sheet SweepPlot::sheet(const result::Results& results) const {
  // Not named: g++ 14 warns that the default argument of suitable() dangles.
  return (figure_.empty() ? plot::suitable(figures_, results) : plot::find(figures_, figure_))
      .compose(results, {});
}

std::string SweepPlot::text(const result::Results& results) const {
  return plot::draw_text(sheet(results), size_of_terminal());
}

void SweepPlot::refresh(const result::Results& results) {
  if (!live_ || Clock::now() < next_) return;
  try {
    command::print("\033[H\033[2J{}", text(results));
    command::flush(stdout);
  } catch (const Error&) { // too few points, most likely; finish() will tell
  }
  next_ = Clock::now() + std::chrono::seconds(2);
}

void SweepPlot::finish(const result::Results& results) {
  if (path_.empty()) return;
  if (path_ == "-") {
    command::print(
        "{}", command::own_controls(text(results))); // below the table, which a cleared screen would lose
    return;
  }
  command::draw_to(path_, sheet(results));
}

} // namespace recount::sweep
