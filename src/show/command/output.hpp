// What commands print: tables, sizes, colour, errors. All of it goes to stdio's stdout or stderr.
#pragma once

#include "base/format.hpp"
#include "show/command/print.hpp"
#include "show/document/document.hpp"

#include <recount/error.hpp>

#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace recount::command {

/// Writes out what `stream` has buffered. A failure is remembered for failed_output(): what is left to do,
/// such as a figure in a file, is still done.
void flush(std::FILE* stream);
/// Flushes stdout for the last time. The errno of the first write to it that failed at any time, or 0.
[[nodiscard]] int failed_output();

/// Whether to print colours on `stream`: a terminal that is not "dumb", and NO_COLOR unset or empty
/// (https://no-color.org).
[[nodiscard]] bool colour(std::FILE* stream);

enum class Style { plain, good, bad, warning, faint, strong };
/// The text in a style, or unchanged where colour() is false.
[[nodiscard]] std::string paint(Style style, const std::string& text, std::FILE* stream = stdout);

/// Columns of a line of `stream`: COLUMNS where it is set, else those of its terminal, else `unknown`. At
/// least 20.
[[nodiscard]] std::size_t line_width(std::FILE* stream = stdout, std::size_t unknown = 80);

/// Rows under one head, two blanks between columns. All tables of the commands are of this type: printed at
/// the width of a terminal here, as CSV and Markdown by TableExport.
class Table {
public:
  enum class Align { left, right };
  struct Column {
    std::string head;
    Align align = Align::left;
    int rank = 0;            ///< where lines are too short, the greatest ranks are left out first; 0: never
    std::string narrow = {}; ///< a shorter head for short lines; empty: none
    bool key = false;        ///< repeated in each part of a table that is split between columns
  };
  /// `title` names the table where it is exported.
  explicit Table(std::vector<Column> columns, std::string title = {})
      : columns_(std::move(columns)), title_(std::move(title)) {
    for (Column& column : columns_) {
      column.head = one_line(column.head);
      column.narrow = one_line(column.narrow);
    }
  }
  /// A row shorter than the head is filled up with empty cells. `narrow`: shorter cells for short lines, an
  /// empty one where there is none.
  void add(std::vector<std::string> row, std::vector<std::string> narrow = {}) {
    for (auto* cells : {&row, &narrow})
      for (std::string& cell : *cells)
        cell = one_line(cell);
    rows_.push_back(std::move(row));
    narrow_rows_.push_back(std::move(narrow));
  }
  /// The values of the table, which are exported as CSV in place of its cells.
  void add_data(std::vector<document::Datum> data) {
    data_.insert(data_.end(), std::make_move_iterator(data.begin()), std::make_move_iterator(data.end()));
  }
  [[nodiscard]] const std::vector<document::Datum>& data() const { return data_; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  /// The table in lines of at most line_width(stream), no blanks at line ends; the head is left out when all
  /// heads are empty. Where a line per row is too wide, text is wrapped within its column; then the narrow
  /// heads and cells are taken, and columns are left out by rank, which a last line names. Where that is too
  /// wide as well, words are cut, or each row becomes a record of "head: cell". Coloured if `stream` supports
  /// it.
  [[nodiscard]] std::string text(std::FILE* stream = stdout) const {
    return text(stream, line_width(stream));
  }
  [[nodiscard]] std::string text(std::FILE* stream, std::size_t most) const;

private:
  [[nodiscard]] Table only(const std::vector<std::size_t>& chosen) const;
  [[nodiscard]] Table narrowed() const;
  [[nodiscard]] std::optional<std::vector<std::size_t>> widths(std::size_t most, bool cut) const;
  [[nodiscard]] std::string lines(const std::vector<std::size_t>& widths, std::FILE* stream) const;
  [[nodiscard]] std::string parts(std::FILE* stream, std::size_t most) const;
  [[nodiscard]] std::string records(std::FILE* stream, std::size_t most) const;
  std::vector<Column> columns_;
  std::string title_;
  std::vector<std::vector<std::string>> rows_, narrow_rows_;
  std::vector<document::Datum> data_;
};

/// Width on a terminal: code points, since what is printed here has no wide or combining characters.
[[nodiscard]] std::size_t width(const std::string& text);

/// At most so wide, cut in the middle, since names differ at both ends.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t most);

/// "1,234,567.5": groups the digits before the point of a decimal number; any other text as it is.
[[nodiscard]] std::string grouped(std::string number);

/// A value with no more digits than its standard deviation supports (two of the deviation's); without one,
/// whole numbers and those from 100 whole, others with three significant digits. Grouped.
[[nodiscard]] std::string format_number(double value, std::optional<double> deviation = {});

/// The text in lines of at most `columns`, each after the first with `indent` blanks before it. No word is
/// broken.
[[nodiscard]] std::string wrap(const std::string& text, std::size_t columns, std::size_t indent);

/// Prints wrap() of the text, as wide as the terminal, and a line end. `lead` is printed before it,
/// unwrapped.
void print_wrapped(const std::string& text, std::size_t indent, std::string_view lead = {});

/// The line as it is where it fits into `columns`, else wrapped, with the blanks that it begins with.
[[nodiscard]] std::string fit(const std::string& line, std::size_t columns, std::size_t indent);

/// Columns of help, warnings and errors on wide terminals: longer lines are hard to read.
inline constexpr std::size_t max_of_prose = 100;

/// Each line of the text as it is where it has at most `columns`, and at most max_of_prose; else wrapped,
/// its further lines indented by 2 more than it is.
[[nodiscard]] std::string fit_lines(const std::string& text, std::size_t columns);

/// A reason for a note of one line: "no core PMU, see recount doctor" where that is the cause, else the
/// cause.
[[nodiscard]] std::string brief(const Reason& reason);

/// "recount: SUBJECT: CAUSE (SETTING)", and "  fix: REMEDY" on a line of its own.
[[nodiscard]] std::string error_text(const Error& error);

// --export FILE: the tables of a command as CSV or Markdown.

/// The help of --export, the same in all commands.
inline constexpr const char* export_help = "also write the tables as CSV or Markdown, by the suffix of FILE";

/// Created before the measurement, so that an unwritable file is reported first.
class TableExport {
public:
  /// `path`: ends in .csv or .md; empty: nothing is exported. Throws Error (bad_input) for another suffix and
  /// for a file that cannot be written.
  explicit TableExport(std::string path);
  /// Markdown: one document with the heading `title`. CSV (RFC 4180): the first table in FILE.csv, each
  /// further one in FILE-TITLE.csv; one line per value where the table has data, else its cells without
  /// styles, indentation and digit grouping. Empty tables are left out. Throws Error (bad_input) when a file
  /// cannot be written.
  void write(const std::string& title, const std::vector<Table>& tables) const;

private:
  std::string path_;
};

/// As RFC 4180 defines it, but with "\n" at line ends: the data, or else the cells.
[[nodiscard]] std::string csv_text(const Table& table);

// A report's document on a terminal.

/// Headings, sentences in lines of at most `columns`, and tables; pictures are left out.
[[nodiscard]] std::string document_text(const std::vector<document::Block>& blocks,
                                        std::size_t columns = line_width());

/// The tables alone, with their captions as titles.
[[nodiscard]] std::vector<Table> extract_tables(const std::vector<document::Block>& blocks);

} // namespace recount::command
