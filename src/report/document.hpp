// A report before it has a format: headings, sentences, tables, figures. All text is plain: whoever writes a
// format escapes it.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace recount::report {

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

/// Cells are text; a column of numbers stands to the right.
struct Table {
  struct Column {
    std::string head;
    bool number = true;
  };
  std::string caption; ///< what it shows, who says it, in which unit
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows; ///< as long as `columns`
  std::vector<std::string> notes = {};        ///< under it
};

/// A figure of the room `figure`, drawn from the same results.
struct Picture {
  std::string name;    ///< "matmul-time"; files are called so
  std::string caption; ///< machine, kernel, witness, what the band means
};

using Block = std::variant<Heading, Paragraph, List, Table, Picture>;

struct Document {
  std::string title, subtitle;
  std::vector<Block> blocks;
};

/// Appends one after the other.
inline void append(std::vector<Block>& to, std::vector<Block> more) {
  for (Block& block : more)
    to.emplace_back(std::move(block));
}

} // namespace recount::report
