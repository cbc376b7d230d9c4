#include "command/table_export.hpp"

#include "base/output_file.hpp"
#include "document/document.hpp"

#include <recount/error.hpp>

#include <cctype>
#include <cerrno>
#include <memory>

namespace recount::command {
namespace {

void write_file(const std::string& path, const std::string& text) {
  if (!base::write_file(path, text)) throw base::cannot_write(path, errno);
}

/// Without style and indentation.
std::string plain(const std::string& cell) {
  std::string text;
  bool escape = false;
  for (const char c : cell) {
    if (c == '\033')
      escape = true;
    else if (!escape)
      text += c;
    else
      escape = c != 'm';
  }
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

/// The number that grouped() was given.
std::string ungrouped(const std::string& text) {
  std::string digits;
  for (const char c : text)
    if (c != ',') digits += c;
  return grouped(digits) == text ? digits : text;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// "by function" -> "by-function".
std::string in_file_name(const std::string& title) {
  std::string name;
  for (const char c : title)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  while (name.ends_with('-'))
    name.pop_back();
  return name;
}

document::Table for_report(const Table& table) {
  document::Table made{table.title(), {}, {}};
  for (const auto& column : table.columns())
    made.columns.push_back({column.head, column.align == Table::Align::right});
  for (const auto& row : table.rows()) {
    auto& cells = made.rows.emplace_back();
    for (std::size_t i = 0; i < made.columns.size(); ++i)
      cells.push_back(i < row.size() ? plain(row[i]) : std::string());
  }
  return made;
}

} // namespace

TableExport::TableExport(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (!path_.ends_with(".csv") && !path_.ends_with(".md"))
    throw bad_input("--export " + path_, "the suffix is neither .csv nor .md", "--export tables.csv");
  base::check_writable("--export", path_, base::Output::replaced);
}

void TableExport::write(const std::string& title, const std::vector<Table>& tables) const {
  if (path_.empty()) return;
  document::Document document{title, {}, {}};
  std::string text; // of the first table
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables[i];
    if (table.empty()) continue;
    if (path_.ends_with(".md")) {
      document.blocks.emplace_back(for_report(table));
    } else if (text.empty()) {
      text = csv_text(table);
    } else {
      const std::string name = in_file_name(table.title());
      write_file(path_.substr(0, path_.size() - 4) + "-" + (name.empty() ? std::to_string(i + 1) : name) +
                     ".csv",
                 csv_text(table));
    }
  }
  write_file(path_, path_.ends_with(".md") ? document::to_markdown(document) : text);
}

std::string csv_text(const Table& table) {
  std::string text;
  const auto add = [&](std::size_t i, const std::string& field) {
    text += (i > 0 ? "," : "") + csv_field(field);
  };
  for (std::size_t i = 0; i < table.columns().size(); ++i)
    add(i, table.columns()[i].head);
  text += '\n';
  for (const auto& row : table.rows()) {
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      const std::string cell = i < row.size() ? plain(row[i]) : std::string();
      add(i, table.columns()[i].align == Table::Align::right ? ungrouped(cell) : cell);
    }
    text += '\n';
  }
  return text;
}

} // namespace recount::command
