#include "command/terminal_size.hpp"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::command {
namespace {

long variable(const char* name, long fallback) {
  const char* const text = std::getenv(name);
  const long value = text ? std::strtol(text, nullptr, 10) : 0;
  return value > 0 ? value : fallback;
}

} // namespace

plot::TextSize terminal_size() {
  plot::TextSize size{variable("COLUMNS", 80), variable("LINES", 25) - 1, false};
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 1) {
    size.columns = window.ws_col;
    size.rows = window.ws_row - 1;
  }
  const char* const no_color = std::getenv("NO_COLOR");
  size.colour = ::isatty(STDOUT_FILENO) == 1 && !(no_color && *no_color);
  return size;
}

} // namespace recount::command
