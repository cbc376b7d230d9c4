// A report before it has a format: headings, sentences, tables, figures. All text is plain: whoever writes a
// format escapes it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace recount::document {

struct Heading {
  std::string text;
  int level = 1; ///< 1: a section, 2: a part of one
};

struct Paragraph {
  std::string text;
};

struct List {
  std::vector<std::string> items;
};

/// One value of a table as raw data: a line of its CSV, see recount-results(5).
struct Datum {
  std::vector<std::pair<std::string, std::string>> keys; ///< what it is of: {"n", "600"}, {"stride", "64"}
  std::string quantity;                                  ///< "PAPI_L1_DCM", "speed-up by time"
  std::string statistic = {};                            ///< "median", "value" of a single one
  std::optional<double> value = {}, low = {}, high = {};
  std::string unit = {};       ///< "s", "ns", "bytes"; empty: a count or a ratio
  std::string witness = {};    ///< "perf", "model:i7-9700"
  std::size_t repetitions = 0; ///< behind the value; 0: not stated
  std::size_t disturbed = 0;   ///< of them
  std::string reason = {};     ///< why there is no value, or why it allows no conclusion

  /// Another value of the same.
  [[nodiscard]] Datum with(std::string of, std::optional<double> number, std::optional<double> least = {},
                           std::optional<double> most = {}) const {
    Datum other = *this;
    other.statistic = std::move(of);
    std::tie(other.value, other.low, other.high) = std::tie(number, least, most);
    return other;
  }
};

/// Cells are text; a column of numbers is right-aligned.
struct Table {
  struct Column {
    std::string head;
    bool number = true;
    bool key = false; ///< names the row: repeated where a terminal splits the table
  };
  std::string caption; ///< contents, witness and unit
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows; ///< as long as `columns`
  std::vector<std::string> notes = {};        ///< under it
  std::vector<Datum> data = {};               ///< its values for CSV; none: its cells are words
};

/// A figure in files of its own: NAME.svg, NAME.pdf.
struct Picture {
  std::string name;    ///< "matmul-time"; files are called so
  std::string caption; ///< machine, kernel, witness, what the band means
};

/// A command line to copy.
struct Code {
  std::string text;
};

using Block = std::variant<Heading, Paragraph, List, Table, Picture, Code>;

struct Document {
  std::string title, subtitle;
  std::vector<Block> blocks;
};

/// Appends one after the other.
inline void append(std::vector<Block>& to, std::vector<Block> more) {
  for (Block& block : more)
    to.emplace_back(std::move(block));
}

/// A section of its own; nothing when it would be empty.
[[nodiscard]] std::vector<Block> under(const std::string& title, std::vector<Block> blocks);

/// CommonMark with the tables of GitHub; pictures are NAME.svg in the same folder.
[[nodiscard]] std::string to_markdown(const Document& document);

/// The SVG of a picture by its name; empty: there is none.
using Svg = std::function<std::string(const std::string& name)>;
/// One page that loads nothing: its style and pictures are within, and so is the one script that may run in
/// it, which sorts tables.
[[nodiscard]] std::string to_html(const Document& document, const Svg& svg);

/// LaTeX for pdflatex; pictures are NAME.pdf in the same folder. Of what is not Latin text and common signs
/// the code point is written, since no font of pdflatex has it.
[[nodiscard]] std::string to_latex(const Document& document);

/// One table for \\input in a table environment of another document, which needs the package booktabs. The
/// caption and the notes are comments.
[[nodiscard]] std::string latex_table(const Table& table);
/// One figure for \\input in another document: a float with its caption and the label fig:NAME, which needs
/// the package graphicx.
[[nodiscard]] std::string latex_figure(const Picture& picture);
/// One table as CSV (RFC 4180): its data, or else heads and rows.
[[nodiscard]] std::string csv_table(const Table& table);
/// One line per value: the keys in the order in which they first occur, then the other members of Datum.
/// Numbers are written with as many digits as they have.
[[nodiscard]] std::string csv_data(const std::vector<Datum>& data);

// For the writers of formats.

/// The text in one line: controls become blanks.
[[nodiscard]] std::string plain_line(std::string_view text);
/// The exponent of "10^6" or "n^3", with the text at "^" and `before` in front of it: it is cut off the text.
/// Empty: none begins here.
[[nodiscard]] std::string_view take_exponent(char32_t before, std::string_view& text);

} // namespace recount::document
