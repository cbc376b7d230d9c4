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

using show::Style;
/// The text in a style, or unchanged where colour() is false.
[[nodiscard]] std::string paint(Style style, const std::string& text, std::FILE* stream = stdout);

/// Columns of a line of `stream`: COLUMNS where it is set, else those of its terminal, else `unknown`. At
/// least 20.
[[nodiscard]] std::size_t line_width(std::FILE* stream = stdout, std::size_t unknown = 80);

/// Lines of a first screen with so many columns.
[[nodiscard]] constexpr std::size_t screen_lines(std::size_t columns) {
  return columns >= 80 ? 24 : 16;
}

/// The table in lines of at most `most` columns, no blanks at line ends; the head is left out when all heads
/// are empty. Where a line per row is too wide, text is wrapped within its column; then the narrow heads and
/// cells are taken, and columns are left out by rank, which a last line names. Where that is too wide as
/// well, words are cut, or each row becomes a record of "head: cell". Coloured if `stream` supports it.
[[nodiscard]] std::string table_text(const show::Table& table, std::FILE* stream, std::size_t most);
[[nodiscard]] inline std::string table_text(const show::Table& table, std::FILE* stream = stdout) {
  return table_text(table, stream, line_width(stream));
}

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
  /// further one in FILE-TITLE.csv, see show::csv_text(). Empty tables are left out. Throws Error (bad_input)
  /// when a file cannot be written.
  void write(const std::string& title, const std::vector<show::Table>& tables) const;

private:
  std::string path_;
};

// A report's document on a terminal.

/// Headings, sentences in lines of at most `columns`, and tables; pictures are left out.
[[nodiscard]] std::string document_text(const std::vector<document::Block>& blocks,
                                        std::size_t columns = line_width());

/// The tables alone, with their captions as titles.
[[nodiscard]] std::vector<show::Table> extract_tables(const std::vector<document::Block>& blocks);

} // namespace recount::command
