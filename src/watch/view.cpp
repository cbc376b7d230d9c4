#include "watch/view.hpp"

#include "process/program.hpp"

#include <recount/error.hpp>

#include <cstring>
#include <unistd.h>

namespace recount::watch {

WatchView::WatchView(const ViewSettings& settings) : settings_(settings) {
  const bool figure = !settings.json && !settings.plain && command::Terminal::there();
  if (figure && process::find_program("gnuplot")) {
    screen_ = std::make_unique<WatchScreen>(settings.window, settings.may_quit);
    return;
  }
  lines_ =
      std::make_unique<WatchLines>(settings.json ? STDOUT_FILENO : ::fileno(settings.lines), settings.json);
  if (figure)
    lines_->say("recount watch: gnuplot not found in PATH: printing lines instead of a figure "
                "(Debian: apt-get install gnuplot-nox)\n");
}

void WatchView::add(const watch::Message& message) {
  if (!trace_.add(message)) return;
  if (lines_) return lines_->add(message, trace_);
  if (!screen_->trouble().empty() && std::holds_alternative<watch::Interval>(message))
    screen_->say(watch_line(message, trace_, trace_.number_of_intervals() % 40 == 1));
  screen_->draw(trace_);
}

void WatchView::note(const std::string& text) {
  if (lines_) return lines_->say(text);
  finished_ ? screen_->close(text) : screen_->say(text);
}

void WatchView::polled(std::vector<pollfd>& into) const {
  if (screen_) screen_->polled(into);
}

void WatchView::ready() {
  if (screen_) screen_->serve(trace_);
}

void WatchView::hang_up() {
  if (screen_) return screen_->hang_up();
  if (!settings_.json && ::isatty(::fileno(settings_.lines)) == 1) lines_->hang_up();
}

void WatchView::finish() {
  finished_ = true;
  if (screen_) {
    screen_->finish(trace_);
    if (!screen_->trouble().empty()) screen_->say("recount watch: no figure: " + screen_->trouble() + "\n");
    screen_->close(watch_summary(trace_, stderr));
  } else {
    lines_->say(watch_summary(trace_, settings_.lines));
  }
}

int WatchView::command_output() {
  return screen_ ? screen_->output() : -1;
}

void WatchView::command_started() {
  if (screen_) screen_->started();
}

bool WatchView::takes_keys() const {
  return screen_ && screen_->takes_keys();
}

bool WatchView::gone() const {
  return screen_ ? screen_->gone() : lines_->gone();
}

void WatchView::check() const {
  if (lines_ && lines_->failure() != 0)
    throw unavailable("output of recount watch",
                      std::string("cannot be written: ") + std::strerror(lines_->failure()));
}

} // namespace recount::watch
