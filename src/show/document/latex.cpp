// LaTeX writer. The output compiles with pdflatex and Debian's texlive-latex-base alone.
#include "base/text.hpp"
#include "show/document/document.hpp"

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
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{\def\midrule{\hline\noalign{\vskip 3pt}}\let\toprule\midrule\let\bottomrule\hline}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}\setlength{\parskip}{0.6em}
\emergencystretch=3em
\tolerance=2000
\setlength{\tabcolsep}{4pt}
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

/// `signs`: a hyphen that is the sign of a number becomes a minus; in a command line it stays.
std::string latex_text(std::string_view text, bool signs = true) {
  std::string out;
  char32_t before = 0;
  while (!text.empty())
    if (const auto exponent = take_exponent(before, text); !exponent.empty()) {
      out += fmt::format("\\textsuperscript{{{}}}", exponent);
    } else if (const bool starts = before == 0 || before == ' ' || before == '[' || before == '(';
               signs && starts && text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9') {
      out += "$-$";
      before = U'-';
      text.remove_prefix(1);
    } else {
      append_latex(out, before = base::next_character(text));
    }
  return out;
}

/// Some columns of a table, with their widths in characters, in a size of text in which they fit a line.
struct Segment {
  std::vector<std::size_t> columns, widths;
  const char* size = "";
};

/// Splits tables between columns where they are too wide for a line at the smallest size.
class PartsOfTable {
public:
  explicit PartsOfTable(const Table& table) : table_(table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      std::size_t width = head_width(table.columns[i].head);
      for (const auto& row : table.rows)
        width = std::max(width, row[i].text.size());
      natural_.push_back(width);
    }
  }

  static constexpr std::string_view usual_size = "\\small"; ///< of tables that fit a line

  [[nodiscard]] std::vector<Segment> parts() const {
    std::vector<std::size_t> keys, others;
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      (table_.columns[i].key || (i == 0 && no_key()) ? keys : others).push_back(i);
    std::vector<Segment> parts;
    std::vector<std::size_t> columns = keys;
    for (const std::size_t i : others) {
      columns.push_back(i);
      if (columns.size() == keys.size() + 1 || least(columns) <= sizes.back().characters) continue;
      columns.pop_back();
      parts.push_back(fitted(columns));
      columns = keys;
      columns.push_back(i);
    }
    parts.push_back(fitted(columns));
    return parts;
  }

private:
  struct Size {
    const char* name;
    std::size_t characters; ///< in a line of 160 mm
  };
  static constexpr std::array sizes{Size{"\\small", 84}, Size{"\\footnotesize", 94},
                                    Size{"\\scriptsize", 106}};
  static constexpr std::size_t gap = 2, min_text = 16;

  /// Of at most three lines, with its words whole.
  static std::size_t head_width(const std::string& head) {
    std::size_t longest = 0;
    for (std::size_t at = 0; at < head.size();) {
      const std::size_t end = std::min(head.find(' ', at), head.size());
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    return head.size() <= 12 ? head.size() : std::max(longest + 1, head.size() / 3 + 2);
  }

  [[nodiscard]] bool no_key() const { return std::ranges::none_of(table_.columns, &show::Column::key); }
  /// Text may be wrapped, numbers may not.
  [[nodiscard]] std::size_t minimum_width(std::size_t column) const {
    return table_.columns[column].role == show::Role::number ? natural_[column]
                                                             : std::min(natural_[column], min_text);
  }
  [[nodiscard]] std::size_t least(const std::vector<std::size_t>& columns) const {
    std::size_t sum = gap * columns.size();
    for (const std::size_t i : columns)
      sum += minimum_width(i);
    return sum;
  }
  /// The largest size in which the columns fit unwrapped; else the smallest, and what is left of the line is
  /// shared out among the columns of text.
  [[nodiscard]] Segment fitted(std::vector<std::size_t> columns) const {
    std::size_t whole = gap * columns.size(), wanted = 0;
    for (const std::size_t i : columns) {
      whole += natural_[i];
      wanted += natural_[i] - minimum_width(i);
    }
    const auto size = std::ranges::find_if(sizes, [&](const Size& one) { return whole <= one.characters; });
    const bool wraps = size == sizes.end();
    const std::size_t base = least(columns), line = wraps ? sizes[1].characters : size->characters;
    Segment part{std::move(columns), {}, wraps ? sizes[1].name : size->name};
    if (wraps && base > line) part.size = sizes.back().name;
    const std::size_t left =
        wraps ? std::max(base, base > line ? sizes.back().characters : line) - base : wanted;
    for (const std::size_t i : part.columns) {
      const std::size_t more = natural_[i] - minimum_width(i);
      part.widths.push_back(minimum_width(i) +
                            (more == 0 ? 0 : std::min(more, left * more / std::max<std::size_t>(wanted, 1))));
    }
    return part;
  }

  const Table& table_;
  std::vector<std::size_t> natural_;
};

/// The text of a cell, wrapped if it has more bytes than `width`; the strut keeps the next row clear of it.
std::string cell_text(const std::string& text, std::size_t width, bool number) {
  if (text.size() <= width) return latex_text(text);
  return fmt::format("\\parbox[{}]{{{:.1f}ex}}{{\\{}\\strut {}\\strut}}", number ? "b" : "t",
                     1.16 * static_cast<double>(width), number ? "raggedleft" : "raggedright",
                     latex_text(text));
}

/// The column heads and the rows [first, last) of a part.
std::string tabular(const Table& table, const Segment& part, std::size_t first, std::size_t last) {
  std::string text = "\\begin{tabular}{@{}";
  for (const std::size_t i : part.columns)
    text += table.columns[i].role == show::Role::number ? 'r' : 'l';
  text += "@{}}\n\\toprule\\strutted\n";
  const auto add_line = [&](const auto& cell) {
    for (std::size_t i = 0; i < part.columns.size(); ++i)
      text += (i ? " & " : "") + cell(part.columns[i], part.widths[i]);
    text += " \\\\\n";
  };
  if (std::ranges::any_of(table.columns, [](const auto& c) { return !c.head.empty(); })) {
    add_line([&](std::size_t column, std::size_t width) {
      return cell_text(table.columns[column].head, width, true);
    });
    text += "\\midrule\\strutted\n";
  }
  for (std::size_t r = first; r < last; ++r)
    add_line([&](std::size_t column, std::size_t width) {
      return cell_text(table.rows[r][column].text, width, table.columns[column].role == show::Role::number);
    });
  return text + "\\bottomrule\n\\end{tabular}";
}

class LatexWriter {
public:
  explicit LatexWriter(const Document& document) {
    text_ = preamble;
    text_ += "\\hypersetup{pdftitle={" + latex_text(document.title) + "}}\n\\title{" +
             latex_text(document.title) + "}\n" + // \author does not wrap its text
             "\\author{\\parbox{0.9\\textwidth}{\\centering\\small " + latex_text(document.subtitle) +
             "}}\n\\date{}\n\\begin{document}\n\\maketitle\n";
    for (std::size_t i = 0; i < document.blocks.size(); ++i) {
      const auto* const left = std::get_if<Picture>(&document.blocks[i]);
      const auto* const right =
          i + 1 < document.blocks.size() ? std::get_if<Picture>(&document.blocks[i + 1]) : nullptr;
      if (left && right) {
        add_pair(*left, *right);
        ++i;
      } else {
        std::visit(*this, document.blocks[i]);
      }
    }
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
    const auto parts = PartsOfTable(table).parts();
    std::size_t first = 0;
    do {
      const std::size_t last = end_of_box(table, parts, first);
      for (const Segment& part : parts)
        add_part(table, part, first, last, &part == &parts.back() && last == table.rows.size());
      first = last;
    } while (first < table.rows.size());
    text_ += "\\medskip\n";
  }
  void operator()(const Picture& picture) { text_ += "\n" + figure(picture, "0.6") + "\\medskip\n"; }
  void operator()(const Code& code) {
    text_ += "\n{\\small\\raggedright\\ttfamily " + latex_text(code.text, false) + "\\par}\n";
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  /// A box with its caption. `width`: of the picture, in lines of the page or of the box.
  static std::string figure(const Picture& picture, const char* width, const char* box = "\\linewidth") {
    return fmt::format("\\begin{{minipage}}[t]{{{}}}\n\\centering\\vspace{{0pt}}\n"
                       "\\includegraphics[width={}\\linewidth]{{{}.pdf}}\\par\\smallskip\n"
                       "\\raggedright\\figurecaption{{{}}}\n\\end{{minipage}}",
                       box, width, picture.name, latex_text(picture.caption));
  }
  /// Side by side: a figure is as wide as a column.
  void add_pair(const Picture& left, const Picture& right) {
    text_ += "\n" + figure(left, "1", "0.485\\linewidth") + "\\hfill\n" +
             figure(right, "1", "0.485\\linewidth") + "\\par\\medskip\n";
  }
  /// The end of the rows from `first` on that fit a page, by the lines that the wrapped cells take.
  static std::size_t end_of_box(const Table& table, const std::vector<Segment>& parts, std::size_t first) {
    constexpr std::size_t most = 40;
    std::size_t last = first;
    for (std::size_t lines = 0; last < table.rows.size(); ++last) {
      std::size_t of_row = 1;
      for (const Segment& part : parts)
        for (std::size_t i = 0; i < part.columns.size(); ++i)
          if (const std::size_t size = table.rows[last][part.columns[i]].text.size(); size > part.widths[i])
            of_row =
                std::max(of_row, 1 + size * 5 / 4 / part.widths[i]); // words leave a part of a line empty
      lines += of_row;
      if (lines > most && last > first) break;
    }
    return last;
  }

  /// One box, without a page break inside; the one with `notes` is the last.
  void add_part(const Table& table, const Segment& part, std::size_t first, std::size_t last, bool notes) {
    text_ += "\n\\begin{minipage}{\\linewidth}\n";
    text_ += continued_ == &table ? std::string("\\textbf{Table \\thereporttable}, continued.")
                                  : "\\tablecaption{" + latex_text(table.caption) + "}";
    continued_ = &table;
    text_ +=
        fmt::format("\\par\\smallskip\n{{{} ", part.size) + tabular(table, part, first, last) + "\\par}\n";
    for (std::size_t i = 0; i < table.notes.size() && notes; ++i)
      text_ += "{\\footnotesize " + latex_text(table.notes[i]) + "\\par}\n";
    text_ += "\\end{minipage}\\par\n";
  }

  const Table* continued_ = nullptr; ///< the table whose caption was written last
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
  const auto parts = PartsOfTable(table).parts();
  if (parts.size() == 1 && parts[0].size == PartsOfTable::usual_size)
    return text + tabular(table, parts[0], 0, table.rows.size()) + "\n";
  for (const Segment& part : parts)
    text += fmt::format("{{{} ", part.size) + tabular(table, part, 0, table.rows.size()) + "\\par}\n";
  return text;
}

std::string latex_figure(const Picture& picture) {
  return fmt::format("\\begin{{figure}}[htbp]\n\\centering\n\\includegraphics[width=\\linewidth]{{{0}.pdf}}\n"
                     "\\caption{{{1}}}\n\\label{{fig:{0}}}\n\\end{{figure}}\n",
                     picture.name, latex_text(picture.caption));
}

} // namespace recount::document
