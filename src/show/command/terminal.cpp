#include "show/command/terminal.hpp"

#include "base/format.hpp"
#include "show/command/output.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace recount::command {
namespace {
// Reached from signal handlers.
termios settings_before, settings_raw;
volatile std::sig_atomic_t settings_changed = 0;
struct sigaction stop_before, continue_before;

void put_back() {
  if (settings_changed) ::tcsetattr(STDIN_FILENO, TCSANOW, &settings_before);
}

extern "C" void on_stop(int) {
  const int error = errno;
  put_back();
  ::raise(SIGSTOP);
  errno = error;
}

extern "C" void on_continue(int) {
  const int error = errno;
  if (settings_changed && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp())
    ::tcsetattr(STDIN_FILENO, TCSANOW, &settings_raw);
  errno = error;
}

void handle(int number, void (*handler)(int), struct sigaction* before) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, before);
}
} // namespace

bool Terminal::available() {
  const char* const kind = std::getenv("TERM");
  if (kind && std::string(kind) == "dumb") return false;
  return ::isatty(STDERR_FILENO) == 1 && ::tcgetpgrp(STDERR_FILENO) == ::getpgrp();
}

Terminal::Terminal() {
  // A new open file description: O_NONBLOCK on the inherited one would apply to the command, too.
  out_.reset(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  gone_ = !out_;
  keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() &&
          ::tcgetattr(STDIN_FILENO, &settings_before) == 0;
  if (!keys_) return;
  settings_raw = settings_before;
  settings_raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings_raw.c_cc[VMIN] = 0;
  settings_raw.c_cc[VTIME] = 0;
  settings_changed = 1;
  handle(SIGTSTP, on_stop, &stop_before);
  handle(SIGCONT, on_continue, &continue_before);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &settings_raw);
}

Terminal::~Terminal() {
  if (!gone_ && !pending_.empty()) { // writes what is pending, with a time-out
    pollfd wait{out_.get(), POLLOUT, 0};
    while (!pending_.empty() && !gone_ && ::poll(&wait, 1, 500) > 0)
      flush();
  }
  if (!keys_) return;
  put_back();
  settings_changed = 0;
  ::sigaction(SIGTSTP, &stop_before, nullptr);
  ::sigaction(SIGCONT, &continue_before, nullptr);
}

void Terminal::add_descriptors(std::vector<pollfd>& polled) const {
  if (gone_) return;
  if (keys_) polled.push_back({STDIN_FILENO, POLLIN, 0});
  if (!pending_.empty()) polled.push_back({out_.get(), POLLOUT, 0});
}

std::string Terminal::serve() {
  if (gone_) return {};
  flush();
  std::string pressed;
  if (!keys_) return pressed;
  char keys[64];
  const ssize_t n = ::read(STDIN_FILENO, keys, sizeof keys); // VMIN 0: never waits
  if (n > 0) pressed.assign(keys, static_cast<std::size_t>(n));
  pollfd hung_up{STDIN_FILENO, 0, 0};
  if (n <= 0 && ::poll(&hung_up, 1, 0) == 1) gone_ = true;
  return pressed;
}

void Terminal::write(const std::string& text) {
  if (gone_) return;
  pending_ += text;
  flush();
}

void Terminal::flush() {
  while (!pending_.empty()) {
    const ssize_t n = ::write(out_.get(), pending_.data(), pending_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) { // EIO: hung up
      gone_ = true;
      pending_.clear();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(n));
  }
}

plot::TextSize Terminal::size() const {
  plot::TextSize size{80, 24, colour(stderr)};
  winsize window{};
  if (::ioctl(out_.get(), TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0)
    size.columns = window.ws_col, size.rows = window.ws_row;
  return size;
}

plot::TextSize terminal_size() {
  const auto variable = [](const char* name, long otherwise) {
    const char* const text = std::getenv(name);
    const long value = base::parse<long>(text ? text : "").value_or(0);
    return value > 0 ? value : otherwise;
  };
  plot::TextSize size{variable("COLUMNS", 80), variable("LINES", 25) - 1, colour(stdout)};
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 1) {
    size.columns = window.ws_col;
    size.rows = window.ws_row - 1;
  }
  return size;
}

} // namespace recount::command
