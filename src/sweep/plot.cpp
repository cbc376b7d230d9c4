#include "sweep/plot.hpp"
#include "command/output.hpp"
#include "command/plot_file.hpp"
#include "plot/figure.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <recount/error.hpp>
#include <recount/nearest.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::cli {
namespace {

using Clock = std::chrono::steady_clock;

figure::TextSize size_of_terminal() {
  figure::TextSize size;
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 2)
    size = {window.ws_col, window.ws_row - 2, false}; // room for the line of progress
  return size;
}

void check_name(const std::string& figure) {
  std::vector<std::string> names;
  for (const auto& entry : figure::names()) {
    if (entry.name == figure) return;
    names.push_back(entry.name);
  }
  if (!figure.empty())
    throw bad_input("--figure " + figure, "no such figure",
                    did_you_mean(figure, names, "recount plot --list names the figures"));
}

} // namespace

SweepPlot::SweepPlot(std::string path, std::string figure)
    : path_(std::move(path)), figure_(std::move(figure)) {
  check_name(figure_);
  if (path_.empty() && !figure_.empty())
    throw bad_input("--figure " + figure_, "there is nowhere to draw it", "add --plot FILE, or --plot -");
  live_ = path_ == "-" && ::isatty(STDOUT_FILENO) == 1;
}

std::string SweepPlot::text(const result::Results& results) const {
  return figure::draw_text(figure_.empty() ? figure::suitable(results) : figure_, results, {},
                           size_of_terminal());
}

void SweepPlot::refresh(const result::Results& results) {
  if (!live_ || Clock::now() < next_) return;
  try {
    fmt::print("\033[H\033[2J{}", text(results));
    flush(stdout);
  } catch (const Error&) { // too few points, most likely; finish() will tell
  }
  next_ = Clock::now() + std::chrono::seconds(2);
}

void SweepPlot::finish(const result::Results& results) {
  if (path_.empty()) return;
  if (path_ == "-") {
    fmt::print("{}", text(results)); // below the table, which a cleared screen would lose
    return;
  }
  draw_to(path_, figure_.empty() ? figure::suitable(results) : figure_, results);
}

} // namespace recount::cli
