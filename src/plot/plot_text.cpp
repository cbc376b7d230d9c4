#include "plot/plot_text.hpp"

#include <array>

namespace recount::plot {
namespace {
/// Advance widths of ASCII 32 to 126 in 1/100 em, as in the AFM file of Helvetica that the font follows.
constexpr std::array<unsigned char, 95> advance{
    28, 28, 36, 56, 56, 89, 67, 19, 33,  33, 39, 58, 28, 33, 28, 28, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 56, 28, 28, 58, 58, 58, 56, 102, 67, 67, 72, 72, 67, 61, 78, 72, 28, 50, 67, 56, 83, 72, 78,
    67, 78, 72, 67, 61, 72, 67, 94, 67,  67, 61, 28, 28, 28, 47, 56, 33, 56, 56, 50, 56, 56, 28, 56,
    56, 22, 22, 50, 22, 83, 56, 56, 56,  56, 33, 50, 28, 56, 50, 72, 50, 50, 50, 33, 26, 33, 58};

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}
} // namespace

double text_width(std::string_view text, double size) {
  int sum = 0;
  for (const char c : text) {
    if (continues(c)) continue;
    const auto code = static_cast<unsigned char>(c);
    sum += code >= 32 && code < 127 ? advance[code - 32U] : 56;
  }
  return sum * size / 100.0;
}

std::size_t characters(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text)
    n += continues(c) ? 0U : 1U;
  return n;
}

std::vector<std::string> wrap(const std::vector<std::string>& pieces, const std::string& joint, double width,
                              const std::function<double(std::string_view)>& wide) {
  std::vector<std::string> lines;
  for (const auto& piece : pieces) {
    if (piece.empty()) continue;
    if (!lines.empty() && wide(lines.back() + joint + piece) <= width) {
      lines.back() += joint + piece;
    } else {
      lines.push_back(piece);
    }
  }
  return lines;
}

std::vector<std::string> in_one_line(const std::vector<std::string>& pieces, const std::string& joint,
                                     double width, const std::function<double(std::string_view)>& wide) {
  std::string line;
  for (const auto& piece : pieces) {
    std::string next = piece;
    while (line.empty() && wide(next) > width && next.rfind(' ') != std::string::npos)
      next.resize(next.rfind(' '));
    if (line.empty())
      line = next;
    else if (!piece.empty() && wide(line + joint + piece) <= width)
      line += joint + piece;
  }
  if (line.empty()) return {};
  return {line};
}

} // namespace recount::plot
