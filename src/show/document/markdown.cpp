// Markdown.
#include "base/text.hpp"
#include "show/document/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::document {
namespace {

bool is_word(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Every character with a meaning in CommonMark or GitHub, at any position.
std::string markdown_text(std::string_view text) {
  constexpr std::string_view signs = "\\`*_{}[]<>#|~$!&";
  std::string out;
  char32_t before = 0;
  while (!text.empty()) {
    const char32_t c = base::next_character(text);
    const bool within_word =
        c == '_' && is_word(before) && !text.empty() && is_word(static_cast<unsigned char>(text[0]));
    before = c;
    if (base::is_control(c)) {
      out += ' ';
      continue;
    }
    // An address would become a link by itself.
    if (c == ':' && text.starts_with("//")) {
      out += "&#58;";
      continue;
    }
    if (c < 0x80 && signs.find(static_cast<char>(c)) != signs.npos && !within_word) out += '\\';
    base::append_character(out, c);
  }
  return out;
}

/// What would begin a list, a quotation or a rule at the head of a line is escaped as well.
std::string markdown_line(std::string_view text) {
  std::string out = markdown_text(text);
  out.erase(0, out.find_first_not_of(' '));
  if (out.starts_with('-') || out.starts_with('+') || out.starts_with('=')) out.insert(0, "\\");
  const auto digits = out.find_first_not_of("0123456789");
  if (digits != out.npos && digits > 0 && (out[digits] == '.' || out[digits] == ')'))
    out.insert(digits, "\\");
  return out;
}

/// Longer than any run of backticks within.
std::string choose_fence(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

class Markdown {
public:
  explicit Markdown(const Document& document) {
    text_ = "# " + markdown_text(document.title) + "\n";
    if (!document.subtitle.empty()) text_ += "\n" + markdown_line(document.subtitle) + "\n";
    for (const Block& block : document.blocks)
      std::visit(*this, block);
  }

  void operator()(const Heading& heading) {
    text_ += fmt::format("\n{} {}\n", heading.level == 1 ? "##" : "###", markdown_line(heading.text));
  }
  void operator()(const Paragraph& paragraph) { text_ += "\n" + markdown_line(paragraph.text) + "\n"; }
  void operator()(const List& list) {
    text_ += "\n";
    for (const auto& item : list.items)
      text_ += "- " + markdown_line(item) + "\n";
  }
  void operator()(const Table& table) {
    text_ += fmt::format("\n**Table {}.** {}\n\n", ++tables_, markdown_text(table.caption));
    std::string rule;
    for (const auto& column : table.columns) {
      text_ += "| " + markdown_text(column.head) + " ";
      rule += column.role == show::Role::number ? "| ---: " : "| :--- ";
    }
    text_ += "|\n" + rule + "|\n";
    for (const auto& row : table.rows) {
      for (const auto& cell : row)
        text_ += "| " + markdown_text(cell.text) + " ";
      text_ += "|\n";
    }
    for (const auto& note : table.notes)
      text_ += "\n" + markdown_line(note) + "\n";
  }
  void operator()(const Picture& picture) {
    const std::string caption = markdown_text(picture.caption);
    text_ +=
        fmt::format("\n![Figure {0}]({1}.svg)\n\n**Figure {0}.** {2}\n", ++pictures_, picture.name, caption);
  }
  void operator()(const Code& code) {
    const std::string fence = choose_fence(code.text);
    text_ += "\n" + fence + "\n" + plain_line(code.text) + "\n" + fence + "\n";
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  std::string text_;
  int tables_ = 0, pictures_ = 0;
};

} // namespace

std::string to_markdown(const Document& document) {
  return Markdown(document).text();
}

} // namespace recount::document
