#include "document/document.hpp"

#include "base/csv.hpp"
#include "base/utf8.hpp"

#include <algorithm>

namespace recount::document {

std::string plain_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = base::next_character(text);
    base::append_character(out, base::is_control(c) ? U' ' : c);
  }
  return out;
}

std::vector<Block> under(const std::string& title, std::vector<Block> blocks) {
  if (!blocks.empty()) blocks.insert(blocks.begin(), Heading{title, 1});
  return blocks;
}

std::string_view take_exponent(char32_t before, std::string_view& text) {
  const bool base = (before >= '0' && before <= '9') || before == 'n';
  const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  if (!base || !text.starts_with('^') || end < 2) return {};
  const auto exponent = text.substr(1, end - 1);
  text.remove_prefix(end);
  return exponent;
}

std::string csv_table(const Table& table) {
  std::string text;
  const auto add_line = [&](const auto& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += (i > 0 ? "," : "") + base::csv_field(cells[i]);
    text += '\n';
  };
  std::vector<std::string> heads;
  for (const auto& column : table.columns)
    heads.push_back(column.head);
  add_line(heads);
  std::ranges::for_each(table.rows, add_line);
  return text;
}

} // namespace recount::document
