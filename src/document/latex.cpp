// LaTeX writer. The output compiles with pdflatex and Debian's texlive-latex-base alone.
#include "base/utf8.hpp"
#include "document/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace recount::document {
namespace {

constexpr const char* preamble = R"(\documentclass[a4paper,11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=25mm]{geometry}
\usepackage{graphicx}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{\let\toprule\hline\let\midrule\hline\let\bottomrule\hline}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}\setlength{\parskip}{0.6em}
\emergencystretch=3em
\tolerance=2000
% Scales a table that is wider than the text.
\newsavebox{\reporttable}
\newcommand{\fitted}[1]{\sbox{\reporttable}{#1}%
  \ifdim\wd\reporttable>\linewidth\resizebox{\linewidth}{!}{\usebox{\reporttable}}\else\usebox{\reporttable}\fi}
\newcommand{\strutted}{\rule{0pt}{2.5ex}}
% Captions without floats: tables and figures are placed in the order of the text.
\newcounter{reporttable}\newcounter{reportfigure}
\newcommand{\tablecaption}[1]{\refstepcounter{reporttable}\textbf{Table \thereporttable.} #1}
\newcommand{\figurecaption}[1]{\refstepcounter{reportfigure}{\small\textbf{Figure \thereportfigure.} #1}}
)";

struct Escape {
  char32_t character;
  const char* tex;
};
constexpr std::array escapes{Escape{'\\', "\\textbackslash{}"},
                             Escape{'{', "\\{"},
                             Escape{'}', "\\}"},
                             Escape{'$', "\\$"},
                             Escape{'&', "\\&"},
                             Escape{'#', "\\#"},
                             Escape{'%', "\\%"},
                             Escape{'_', "\\_\\allowbreak{}"},
                             Escape{'^', "\\textasciicircum{}"},
                             Escape{'~', "\\textasciitilde{}"},
                             Escape{'<', "\\textless{}"},
                             Escape{'>', "\\textgreater{}"},
                             Escape{'|', "\\textbar{}"},
                             Escape{'"', "\\textquotedbl{}"},
                             Escape{'\'', "\\textquotesingle{}"},
                             Escape{'`', "\\textasciigrave{}"},
                             Escape{'/', "/\\allowbreak{}"},
                             Escape{',', ",\\allowbreak{}"},
                             Escape{'=', "=\\allowbreak{}"},
                             Escape{'[', "{[}"},
                             Escape{']', "{]}"},
                             Escape{'-', "-{}"},
                             Escape{'*', "{*}"},
                             Escape{0xA0, "~"},
                             Escape{0x2013, "--"},
                             Escape{0x2014, "---"},
                             Escape{0x2018, "`"},
                             Escape{0x2019, "'"},
                             Escape{0x201C, "``"},
                             Escape{0x201D, "''"},
                             Escape{0x2026, "\\dots{}"},
                             Escape{0xD7, "$\\times$"},
                             Escape{0xB7, "$\\cdot$"},
                             Escape{0xB5, "$\\mu$"},
                             Escape{0x3BC, "$\\mu$"},
                             Escape{0xB0, "\\textdegree{}"},
                             Escape{0xB1, "$\\pm$"},
                             Escape{0x2212, "$-$"},
                             Escape{0x2264, "$\\le$"},
                             Escape{0x2265, "$\\ge$"},
                             Escape{0x2248, "$\\approx$"},
                             Escape{0xAE, "\\textregistered{}"},
                             Escape{0x2122, "\\texttrademark{}"},
                             Escape{0xA9, "\\textcopyright{}"},
                             Escape{0xB2, "\\textsuperscript{2}"},
                             Escape{0xB3, "\\textsuperscript{3}"}};

void append_latex(std::string& out, char32_t c) {
  const auto* const escape = std::ranges::find(escapes, c, &Escape::character);
  if (escape != escapes.end())
    out += escape->tex;
  else if (base::is_control(c))
    out += ' ';
  else if ((c >= 0x20 && c < 0x7F) || (c >= 0xC0 && c <= 0xFF && c != 0xF7))
    base::append_character(out, c); // all fonts in T1 encoding have the letters of Latin-1
  else
    out += fmt::format("\\texttt{{U+{:04X}}}", static_cast<unsigned long>(c));
}

std::string latex_text(std::string_view text) {
  std::string out;
  char32_t before = 0;
  while (!text.empty())
    if (const auto exponent = take_exponent(before, text); !exponent.empty())
      out += fmt::format("\\textsuperscript{{{}}}", exponent);
    else
      append_latex(out, before = base::next_character(text));
  return out;
}

/// The text of a cell, wrapped if it has more bytes than `width`.
std::string cell_text(const std::string& text, std::size_t width, bool number) {
  if (text.size() <= width) return latex_text(text);
  return fmt::format("\\parbox[b]{{{}ex}}{{\\{} {}}}", width, number ? "raggedleft" : "raggedright",
                     latex_text(text));
}

/// The column heads and the rows [first, last).
std::string tabular(const Table& table, std::size_t first, std::size_t last) {
  constexpr std::size_t head_width = 19, cell_width = 56;
  std::string text = "\\begin{tabular}{@{}";
  for (const auto& column : table.columns)
    text += column.number ? 'r' : 'l';
  text += "@{}}\n\\toprule\\strutted\n";
  const bool headed = std::ranges::any_of(table.columns, [](const auto& c) { return !c.head.empty(); });
  for (std::size_t i = 0; i < table.columns.size() && headed; ++i)
    text += (i ? " & " : "") + cell_text(table.columns[i].head, head_width, table.columns[i].number);
  if (headed) text += " \\\\\n\\midrule\\strutted\n";
  for (std::size_t r = first; r < last; ++r) {
    const auto& row = table.rows[r];
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i ? " & " : "") + cell_text(row[i], cell_width, false);
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}";
}

class LatexWriter {
public:
  explicit LatexWriter(const Document& document) {
    text_ = preamble;
    text_ += "\\title{" + latex_text(document.title) + "}\n" + // \author does not wrap its text
             "\\author{\\parbox{0.9\\textwidth}{\\centering\\small " + latex_text(document.subtitle) +
             "}}\n\\date{}\n\\begin{document}\n\\maketitle\n";
    for (const Block& block : document.blocks)
      std::visit(*this, block);
    text_ += "\\end{document}\n";
  }

  void operator()(const Heading& heading) {
    text_ += fmt::format("\n\\{}{{{}}}\n", heading.level == 1 ? "section" : "subsection*",
                         latex_text(heading.text));
  }
  void operator()(const Paragraph& paragraph) { text_ += "\n" + latex_text(paragraph.text) + "\n"; }
  void operator()(const List& list) {
    if (list.items.empty()) return;
    text_ += "\n\\begin{itemize}\n";
    for (const auto& item : list.items)
      text_ += "\\item {}" + latex_text(item) + "\n";
    text_ += "\\end{itemize}\n";
  }
  void operator()(const Table& table) {
    // Each part is one box: it has no page break inside, and is scaled if it is too wide.
    for (std::size_t first = 0; first < std::max<std::size_t>(1, table.rows.size()); first += rows_per_part)
      add_part(table, first);
    for (const auto& note : table.notes)
      text_ += "{\\footnotesize " + latex_text(note) + "\\par}\n";
    text_ += "\\medskip\n";
  }
  void operator()(const Picture& picture) {
    text_ += fmt::format("\n\\begin{{minipage}}{{\\linewidth}}\n\\centering\n"
                         "\\includegraphics[width=0.72\\linewidth]{{{}.pdf}}\\par\\smallskip\n"
                         "\\raggedright\\figurecaption{{{}}}\n\\end{{minipage}}\\medskip\n",
                         picture.name, latex_text(picture.caption));
  }
  void operator()(const Code& code) {
    text_ += "\n{\\small\\raggedright\\ttfamily " + latex_text(code.text) + "\\par}\n";
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  static constexpr std::size_t rows_per_part = 40;

  void add_part(const Table& table, std::size_t first) {
    text_ += "\n\\begin{minipage}{\\linewidth}\n";
    text_ += first == 0 ? "\\tablecaption{" + latex_text(table.caption) + "}"
                        : std::string("\\textbf{Table \\thereporttable}, continued.");
    text_ += "\\par\\smallskip\n\\fitted{\\small" +
             tabular(table, first, std::min(table.rows.size(), first + rows_per_part)) +
             "}\n\\end{minipage}\\par\n";
  }

  std::string text_;
};

} // namespace

std::string to_latex(const Document& document) {
  return LatexWriter(document).text();
}

std::string latex_table(const Table& table) {
  std::string text = "% " + plain_line(table.caption) + "\n"; // a line break would end the comment
  for (const auto& note : table.notes)
    text += "% " + plain_line(note) + "\n";
  text += "% needs \\usepackage{booktabs}\n\\providecommand{\\strutted}{\\rule{0pt}{2.5ex}}\n";
  return text + tabular(table, 0, table.rows.size()) + "\n";
}

} // namespace recount::document
