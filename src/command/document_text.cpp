#include "command/document_text.hpp"

#include <algorithm>

namespace recount::command {
namespace {

Table printed(const document::Table& table) {
  std::vector<Table::Column> columns;
  for (const auto& column : table.columns)
    columns.push_back(
        {column.head, column.number ? Table::Align::right : Table::Align::left, 0, {}, column.key});
  Table made(columns, table.caption);
  for (const auto& row : table.rows)
    made.add(row);
  return made;
}

class TextWriter {
public:
  explicit TextWriter(std::size_t columns) : columns_(columns) {}

  void operator()(const document::Heading& heading) {
    text_ += "\n" + paint(Style::strong, wrap(heading.text, columns_, 0)) + "\n";
    if (heading.level == 1) text_ += std::string(std::min(width(heading.text), columns_), '=') + "\n";
  }
  void operator()(const document::Paragraph& paragraph) { text_ += wrap(paragraph.text, columns_, 0) + "\n"; }
  void operator()(const document::List& list) {
    for (const auto& item : list.items)
      text_ += "  - " + wrap(item, columns_, 4) + "\n";
  }
  void operator()(const document::Table& table) {
    text_ += "\n" + wrap(table.caption, columns_, 0) + "\n" + printed(table).text(stdout, columns_);
    for (const auto& note : table.notes)
      text_ += "  " + wrap(note, columns_, 2) + "\n";
  }
  void operator()(const document::Code& code) { text_ += "  " + code.text + "\n"; }
  void operator()(const document::Picture&) {}

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  std::size_t columns_;
  std::string text_;
};

} // namespace

std::vector<Table> tables_of(const std::vector<document::Block>& blocks) {
  std::vector<Table> tables;
  for (const auto& block : blocks)
    if (const auto* table = std::get_if<document::Table>(&block)) tables.push_back(printed(*table));
  return tables;
}

std::string document_text(const std::vector<document::Block>& blocks, std::size_t columns) {
  TextWriter writer(columns);
  for (const auto& block : blocks)
    std::visit(writer, block);
  return std::move(writer).text();
}

} // namespace recount::command
