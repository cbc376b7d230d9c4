#include "base/csv.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace recount::base {
namespace {

/// Fields between separators that are not quoted. Quotes around a field are removed; doubled ones inside
/// stay.
std::vector<std::string_view> split_fields(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  bool quoted = false;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (quoted || line[i] != separator)) continue;
    std::string_view field = trim(line.substr(from, i - from));
    if (field.size() >= 2 && field.starts_with('"') && field.ends_with('"'))
      field = trim(field.substr(1, field.size() - 2));
    fields.push_back(field);
    from = i + 1;
  }
  return fields;
}

/// Spreadsheets separate with semicolons where the decimal sign is a comma, or with tabs.
char separator_of(std::string_view header) {
  for (const char separator : {',', ';', '\t'})
    if (split_fields(header, separator).size() > 1) return separator;
  return ',';
}

} // namespace

CsvTable parse_csv(std::string_view text, const std::string& file, const std::string& fix) {
  if (text.size() > longest_csv) throw bad_input(file, "is longer than 1 MB, the limit for such a table");
  if (text.find('\0') != text.npos)
    throw bad_input(file, "is not text in UTF-8", "iconv -f UTF-16 -t UTF-8, or save it as CSV UTF-8");
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
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
    if (table.head.fields.empty()) table.separator = separator_of(line);
    CsvTable::Line row{number, split_fields(line, table.separator)};
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

std::string csv_field(std::string_view text) {
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const bool number = sign && (text == "-" || parse<double>(text.substr(1)));
  const bool formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != text.npos && !number;
  const std::string field = (formula ? "'" : "") + std::string(text);
  if (field.find_first_of(",\"\r\n") == field.npos) return field;
  std::string quoted = "\"";
  for (const char c : field)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

} // namespace recount::base
