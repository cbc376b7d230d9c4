#include "show/command/print.hpp"

#include "base/text.hpp"
#include "show/command/output.hpp"

#include <random>

namespace recount::command {
namespace {

constexpr std::string_view sequence = "\033[", end_of_style = "\033[0m";

/// It has the form of a control sequence (ECMA-48, 5.4) up to its first parameter, so that what measures or
/// cuts styled text need not know it.
const std::string& mark() {
  static const std::string text = [] {
    std::random_device random;
    return fmt::format("{}{:010}{:010};", sequence, random(), random());
  }();
  return text;
}

bool moves_back(char c) {
  return c == '\r' || c == '\f';
}
} // namespace

std::string own_controls(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool begins = text.starts_with(sequence);
    if (begins || moves_back(text.front())) out += mark();
    if (!begins) out += text.front();
    text.remove_prefix(begins ? sequence.size() : 1);
  }
  return out;
}

std::string terminal_text(std::string_view text) {
  std::string out;
  bool styled = false;
  while (!text.empty()) {
    if (text.starts_with(mark())) {
      text.remove_prefix(mark().size());
      const bool back = !text.empty() && moves_back(text.front());
      if (!back) styled = !text.starts_with("0m"), out += sequence;
      if (back) out += text.front(), text.remove_prefix(1);
    } else if (styled && text.starts_with(end_of_style)) { // of a style that was cut and ended anew
      styled = false;
      out += end_of_style;
      text.remove_prefix(end_of_style.size());
    } else if (text.front() == '\n' || text.front() == '\t') {
      out += text.front();
      text.remove_prefix(1);
    } else {
      base::append_printable(out, text);
    }
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  while (true) {
    const auto at = text.find(mark());
    out += base::printable(text.substr(0, at));
    if (at == text.npos) return out;
    const std::size_t kept =
        mark().size() + (at + mark().size() < text.size() && moves_back(text[at + mark().size()]) ? 1 : 0);
    out += text.substr(at, kept);
    text.remove_prefix(at + kept);
  }
}

std::string format_own(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(own_controls({pattern.data(), pattern.size()}), arguments);
}

void write_note(const std::string& text) {
  command::print(stderr, "{}", fit_lines(text, line_width(stderr, max_of_prose)));
}

} // namespace recount::command
