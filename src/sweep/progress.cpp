#include "sweep/progress.hpp"

#include "base/format.hpp"
#include "command/print.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::sweep {

using Clock = std::chrono::steady_clock;

std::string show_time(std::chrono::nanoseconds time) {
  const long s = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

std::string format_seconds(double seconds) {
  constexpr double longest = 9e9; // longer times would overflow the nanoseconds
  return show_time(std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * std::min(seconds, longest))));
}

std::string show_progress(const sweep::Progress& p) {
  std::string text = fmt::format("{} of {}", p.done, base::format_count(p.total, "run"));
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  text += ", " + show_time(p.elapsed);
  if (p.simulated) text += fmt::format(", {:.1f} % of this one simulated", 100 * *p.simulated);
  if (p.remaining && p.done < p.total) text += ", about " + show_time(*p.remaining) + " left";
  return text;
}

ProgressLine::ProgressLine(bool quiet, std::string command)
    : command_(std::move(command)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + (terminal_ ? std::chrono::milliseconds(0) : std::chrono::minutes(1))) {}

void ProgressLine::show(const sweep::Progress& progress) {
  if (quiet_ || Clock::now() < next_) return;
  std::string text = show_progress(progress);
  if (!terminal_) {
    command::note("recount {}: {}\n", command_, text);
    next_ = Clock::now() + std::chrono::minutes(1);
    return;
  }
  if (progress.job) text += ": " + progress.job->witness + " " + result::describe(progress.job->point);
  winsize window{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
    text.resize(
        std::min<std::size_t>(text.size(), window.ws_col - 1U)); // a wrapped line cannot be written over
  command::print(stderr, "\r{}\033[K", text);
  shown_ = true;
  next_ = Clock::now() + std::chrono::milliseconds(100);
}

void ProgressLine::clear() {
  if (shown_) command::print(stderr, "\r\033[K");
  shown_ = false;
}

} // namespace recount::sweep
