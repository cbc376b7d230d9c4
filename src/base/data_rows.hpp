// Tables in text files: rows of cells, and comments that start with #.
#pragma once

#include "base/text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace recount::base {

struct DataRow {
  std::string where;                   ///< "FILE:LINE"
  std::vector<std::string_view> cells; ///< without blanks at their ends
};

/// The rows of a text, which must outlive them; empty lines and comments are left out. Pure.
[[nodiscard]] inline std::vector<DataRow> data_rows(std::string_view text, const std::string& file,
                                                    char separator = '|') {
  std::vector<DataRow> rows;
  int number = 0;
  for (const auto whole : split(text, '\n')) {
    ++number;
    const auto line = trim(whole);
    if (line.empty() || line.front() == '#') continue;
    DataRow& row = rows.emplace_back(DataRow{file + ":" + std::to_string(number), split(line, separator)});
    for (auto& cell : row.cells)
      cell = trim(cell);
  }
  return rows;
}

/// The words between separators, empty ones left out. Pure.
[[nodiscard]] inline std::vector<std::string> words(std::string_view text, char separator = ' ') {
  std::vector<std::string> all;
  for (const auto word : split(text, separator))
    if (!word.empty()) all.emplace_back(word);
  return all;
}

} // namespace recount::base
