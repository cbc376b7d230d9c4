// What commands print: tables, sizes, colour, errors. All of it goes to stdio's stdout or stderr.
#pragma once

#include "command/print.hpp"

#include <recount/error.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace recount::cli {

/// Writes out what `stream` has buffered. A failure is remembered for failed_output(): what is left to do,
/// such as a figure in a file, is still done.
void flush(std::FILE* stream);
/// Flushes stdout for the last time. The errno of the first write to it that failed at any time, or 0.
[[nodiscard]] int failed_output();

/// Whether `stream` wants colour: a terminal that is not "dumb", and NO_COLOR unset or empty
/// (https://no-color.org).
[[nodiscard]] bool colour(std::FILE* stream);

enum class Style { plain, good, bad, warning, faint, strong };
/// The text in a style, or as it is where `stream` wants no colour.
[[nodiscard]] std::string paint(Style style, const std::string& text, std::FILE* stream = stdout);

/// Rows under one head, columns as wide as they need, two blanks between them.
class Table {
public:
  enum class Align { left, right };
  struct Column {
    std::string head;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (Column& column : columns_)
      column.head = one_line(column.head);
  }
  /// A row shorter than the head is filled up with empty cells.
  void add(std::vector<std::string> row) {
    for (std::string& cell : row)
      cell = one_line(cell);
    rows_.push_back(std::move(row));
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// The whole table, a line a row, no blanks at line ends; the head is left out when all heads are empty.
  /// Coloured as `stream` wants it.
  [[nodiscard]] std::string text(std::FILE* stream = stdout) const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Width on a terminal: code points, since what is printed here has no wide or combining characters.
[[nodiscard]] std::size_t width(const std::string& text);

/// "512 B", "32 KiB", "1.5 MiB".
[[nodiscard]] std::string show_size(std::int64_t bytes);

/// The text in lines of at most `columns`, each after the first with `indent` blanks before it.
[[nodiscard]] std::string wrap(const std::string& text, std::size_t columns, std::size_t indent);

/// "recount: SUBJECT: CAUSE", and the setting and the remedy a line each.
[[nodiscard]] std::string error_text(const Error& error);

} // namespace recount::cli
