#include "command/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace recount::cli {
namespace {
int first_failure = 0; ///< errno of stdout
} // namespace

void flush(std::FILE* stream) {
  if (std::fflush(stream) != 0 && stream == stdout && first_failure == 0) first_failure = errno;
}

int failed_output() {
  flush(stdout);
  // fflush(3) drops what it could not write, and succeeds the next time: only the error indicator remains of
  // a flush elsewhere, such as that of all streams before a fork.
  if (first_failure == 0 && std::ferror(stdout) != 0) first_failure = EIO;
  return first_failure;
}

bool colour(std::FILE* stream) {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (refused && *refused) return false;
  if (terminal && std::string_view(terminal) == "dumb") return false;
  return ::isatty(::fileno(stream)) != 0;
}

std::string paint(Style style, const std::string& text, std::FILE* stream) {
  if (style == Style::plain || text.empty() || !colour(stream)) return text;
  constexpr std::array codes{"", "32", "31", "33", "2", "1"};
  return own_controls(fmt::format("\033[{}m", codes[static_cast<std::size_t>(style)])) + text +
         own_controls("\033[0m");
}

std::size_t width(const std::string& text) {
  std::size_t points = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\033')
      escape = true;
    else if (escape)
      escape = c != 'm';
    else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U)
      ++points;
  }
  return points;
}

std::string Table::text(std::FILE* stream) const {
  std::vector<std::size_t> widths;
  for (const auto& column : columns_)
    widths.push_back(width(column.head));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string made;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string text = cell(i);
      const std::string gap(widths[i] - width(text), ' ');
      made += (i ? "  " : "") + (columns_[i].align == Align::right ? gap + text : text + gap);
    }
    made.erase(made.find_last_not_of(' ') + 1);
    out += made + "\n";
  };
  const bool headed =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.head.empty(); });
  if (headed) line([&](std::size_t i) { return paint(Style::strong, columns_[i].head, stream); });
  for (const auto& row : rows_)
    line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  return out;
}

std::string show_size(std::int64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string wrap(const std::string& text, std::size_t columns, std::size_t indent) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t used = indent;
  while (words >> word) {
    const bool first = out.empty();
    if (!first && used + 1 + width(word) > columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width(word);
  }
  return out;
}

std::string error_text(const Error& error) {
  const Problem& p = error.problem();
  std::string text = paint(Style::bad, "recount:", stderr) + " " + one_line(p.subject) + ": ";
  for (const char c : p.cause) // words of gnuplot have lines; none of them looks like one of ours
    text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  text += "\n";
  if (!p.setting.empty()) text += "  setting: " + one_line(p.setting) + "\n";
  if (!p.remedy.empty()) text += "  remedy:  " + p.remedy + "\n";
  return text;
}

} // namespace recount::cli
