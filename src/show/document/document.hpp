// A report before it has a format: headings, sentences, tables, figures. All text is plain: whoever writes a
// format escapes it.
#pragma once

#include "show/document/table.hpp"

#include <functional>
#include <string>
#include <string_view>
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

/// A figure in files of its own: NAME.svg, NAME.pdf.
struct Picture {
  std::string name;    ///< "matmul-time"; files are called so
  std::string caption; ///< machine, kernel, witness, what the band means
};

/// A command line to copy.
struct Code {
  std::string text;
};

using show::Table;
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

// For the writers of formats.

/// The text in one line: controls become blanks.
[[nodiscard]] std::string plain_line(std::string_view text);
/// The exponent of "10^6" or "n^3", with the text at "^" and `before` in front of it: it is cut off the text.
/// Empty: none begins here.
[[nodiscard]] std::string_view take_exponent(char32_t before, std::string_view& text);

} // namespace recount::document
