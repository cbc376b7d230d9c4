// Tables as lines of a terminal.
#include "show/command/output.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace recount::command {
namespace {

using show::Role;
using Columns = std::vector<std::size_t>;

constexpr std::size_t gap = 2;          ///< blanks between columns
constexpr std::size_t min_of_text = 16; ///< columns of wrapped text: less is hard to read
constexpr std::size_t min_for_lines = 50, min_of_text_below = 10; ///< on narrower terminals

std::size_t leading_blanks(const std::string& text) {
  return std::min(text.find_first_not_of(' '), text.size());
}

std::size_t longest_word(const std::string& text) {
  std::istringstream words(text);
  std::size_t longest = 0;
  for (std::string word; words >> word;)
    longest = std::max(longest, width(word));
  return longest + leading_blanks(text);
}

/// The lines of a cell; each of them begins with the blanks with which it begins.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t columns) {
  if (width(cell) <= columns) return {cell};
  const std::size_t blanks = leading_blanks(cell);
  std::istringstream wrapped(wrap(cell, columns - std::min(blanks, columns), 0));
  std::vector<std::string> lines;
  for (std::string line; std::getline(wrapped, line);)
    lines.push_back(std::string(blanks, ' ') + line);
  return lines;
}

/// The words that are longer than `columns`, cut in the middle.
std::string cut_words(const std::string& cell, std::size_t columns) {
  if (longest_word(cell) <= columns) return cell;
  std::istringstream words(cell);
  std::string text, word;
  while (words >> word)
    text += (text.empty() ? "" : " ") + shortened(word, columns);
  return text;
}

/// A table whose text is safe for a terminal of `most` columns, with its long or its narrow texts.
class TerminalTable {
public:
  TerminalTable(const show::Table& table, std::FILE* stream, std::size_t most)
      : columns_(table.columns), rows_(table.rows), stream_(stream), most_(most) {
    for (show::Column& column : columns_) {
      column.head = one_line(column.head);
      column.narrow = one_line(column.narrow);
    }
    for (auto& row : rows_) {
      row.resize(columns_.size());
      for (show::Cell& cell : row) {
        cell.text = one_line(cell.text);
        cell.narrow = one_line(cell.narrow);
      }
    }
  }

  std::string text() {
    Columns used;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!columns_[i].head.empty() ||
          std::ranges::any_of(rows_, [i](const auto& row) { return !row[i].text.empty(); }))
        used.push_back(i);
    if (used.empty()) return {};
    if (const auto fitting = widths(used, false)) return lines(used, *fitting);
    narrow_ = true;
    Columns kept = used;
    std::string left_out;
    for (;;) {
      if (const auto fitting = widths(kept, false))
        return lines(kept, *fitting) +
               (left_out.empty() ? "" : "  " + wrap("left out: " + left_out, most_, 4) + "\n");
      const auto last = std::ranges::max_element(kept, {}, [&](std::size_t i) { return columns_[i].rank; });
      if (columns_[*last].rank <= 0) break;
      left_out = head(*last) + (left_out.empty() ? "" : ", ") + left_out;
      kept.erase(last);
    }
    if (most_ >= min_for_lines) return parts(used);
    narrow_ = false;
    return records(used);
  }

private:
  [[nodiscard]] const std::string& head(std::size_t column) const {
    const show::Column& one = columns_[column];
    return narrow_ && !one.narrow.empty() ? one.narrow : one.head;
  }
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const {
    const show::Cell& one = rows_[row][column];
    return narrow_ && !one.narrow.empty() ? one.narrow : one.text;
  }

  /// Widths in which the columns fit a line: the widest column of text gives way first, none below its
  /// longest word or, where words may be `cut`, below what is readable.
  [[nodiscard]] std::optional<Columns> widths(const Columns& columns, bool cut) const {
    const std::size_t readable = most_ < min_for_lines ? min_of_text_below : min_of_text;
    Columns wanted, floors;
    std::size_t all = gap * (columns.size() - 1);
    for (const std::size_t i : columns) {
      std::size_t widest = width(head(i)), word = longest_word(head(i));
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        widest = std::max(widest, width(cell(r, i)));
        word = std::max(word, longest_word(cell(r, i)));
      }
      wanted.push_back(widest);
      floors.push_back(columns_[i].role == Role::words
                           ? std::min(widest, cut ? readable : std::max(word, readable))
                           : widest);
      all += widest;
    }
    while (all > most_) {
      std::size_t widest = wanted.size();
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] > floors[i] && (widest == wanted.size() || wanted[i] > wanted[widest])) widest = i;
      if (widest == wanted.size()) return {};
      --wanted[widest];
      --all;
    }
    return wanted;
  }

  /// As many columns side by side as fit, the others below, each time behind the keys.
  std::string parts(const Columns& columns) {
    Columns keys{columns[0]};
    while (keys.size() < columns.size() && columns_[columns[keys.size()]].key)
      keys.push_back(columns[keys.size()]);
    std::string text;
    for (std::size_t next = keys.size(); next < columns.size();) {
      Columns chosen = keys;
      std::optional<Columns> fitting;
      for (; next < columns.size(); ++next) {
        chosen.push_back(columns[next]);
        auto wider = widths(chosen, true);
        if (!wider) break;
        fitting = std::move(wider);
      }
      if (!fitting) return records(columns);
      if (next < columns.size()) chosen.pop_back();
      text += (text.empty() ? "" : "\n") + lines(chosen, *fitting);
    }
    return text.empty() ? records(columns) : text;
  }

  [[nodiscard]] std::string lines(const Columns& columns, const Columns& widths) const {
    std::string out;
    const auto add = [&](const auto& text, const auto& style) {
      std::vector<std::vector<std::string>> cells;
      std::size_t height = 1;
      for (std::size_t c = 0; c < columns.size(); ++c) {
        cells.push_back(cell_lines(cut_words(text(columns[c]), widths[c]), widths[c]));
        height = std::max(height, cells.back().size());
      }
      for (std::size_t l = 0; l < height; ++l) {
        std::string line;
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const std::string part = l < cells[c].size() ? cells[c][l] : std::string();
          const std::string blanks(widths[c] - std::min(width(part), widths[c]), ' ');
          const std::string painted = paint(style(columns[c]), part, stream_);
          line += std::string(c > 0 ? gap : 0, ' ');
          line += columns_[columns[c]].role == Role::number ? blanks + painted : painted + blanks;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
      }
    };
    if (std::ranges::any_of(columns, [&](std::size_t i) { return !head(i).empty(); }))
      add([&](std::size_t i) { return head(i); }, [](std::size_t) { return Style::strong; });
    for (std::size_t r = 0; r < rows_.size(); ++r)
      add([&](std::size_t i) { return cell(r, i); }, [&](std::size_t i) { return rows_[r][i].style; });
    return out;
  }

  [[nodiscard]] std::string records(const Columns& columns) const {
    std::string out, last; // an empty first cell stands for the one above
    const bool number = columns_[columns[0]].role == Role::number && !head(columns[0]).empty();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (const std::string& first = cell(r, columns[0]); !first.empty())
        last = first.substr(leading_blanks(first));
      std::string fields;
      for (std::size_t c = 1; c < columns.size(); ++c)
        if (const std::string& field = cell(r, columns[c]); !field.empty())
          fields += (fields.empty() ? "" : "; ") + (head(columns[c]).empty() ? "" : head(columns[c]) + ": ") +
                    paint(rows_[r][columns[c]].style, field, stream_);
      const std::string subject =
          paint(Style::strong, (number ? head(columns[0]) + ": " : std::string()) + last, stream_);
      if (width(subject) + gap + width(fields) <= most_)
        out += subject + std::string(fields.empty() ? 0 : gap, ' ') + fields + "\n";
      else
        out += wrap(subject, most_, 2) + "\n    " + wrap(fields, most_, 4) + "\n";
    }
    return out;
  }

  std::vector<show::Column> columns_;
  std::vector<std::vector<show::Cell>> rows_;
  std::FILE* stream_;
  std::size_t most_;
  bool narrow_ = false;
};

} // namespace

std::string table_text(const show::Table& table, std::FILE* stream, std::size_t most) {
  return TerminalTable(table, stream, most).text();
}

} // namespace recount::command
