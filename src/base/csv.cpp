#include "base/csv.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace recount::base {

CsvTable parse_csv(std::string_view text, const std::string& file, const std::string& fix) {
  if (text.size() > longest_csv) throw bad_input(file, "is longer than 1 MB, the limit for such a table");
  CsvTable table;
  table.file = file;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty()) continue;
    if (line.starts_with('#')) {
      if (!table.comments.empty()) table.comments += ' ';
      table.comments += trim(line.substr(1));
      continue;
    }
    CsvTable::Line row{number, split(line, ',')};
    for (auto& field : row.fields)
      field = trim(field);
    if (table.head.fields.empty()) {
      table.head = std::move(row);
      continue;
    }
    if (row.fields.size() != table.head.fields.size())
      table.fail(number,
                 fmt::format("has {}, the header has {}", format_count(row.fields.size(), "field"),
                             table.head.fields.size()),
                 fix);
    table.rows.push_back(std::move(row));
  }
  return table;
}

} // namespace recount::base
