#include "show/command/output.hpp"

#include "base/output_file.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace recount::command {
namespace {
int first_failure = 0; ///< errno of stdout
} // namespace

void flush(std::FILE* stream) {
  if (std::fflush(stream) != 0 && stream == stdout && first_failure == 0) first_failure = errno;
}

int failed_output() {
  flush(stdout);
  // fflush(3) drops what it could not write, and succeeds the next time: only the error indicator remains of
  // a flush elsewhere, such as that of all streams before a fork.
  if (first_failure == 0 && std::ferror(stdout) != 0) first_failure = EIO;
  return first_failure;
}

bool colour(std::FILE* stream) {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (refused && *refused) return false;
  if (terminal && std::string_view(terminal) == "dumb") return false;
  return ::isatty(::fileno(stream)) != 0;
}

std::string paint(Style style, const std::string& text, std::FILE* stream) {
  if (style == Style::plain || text.empty() || !colour(stream)) return text;
  constexpr std::array codes{"", "32", "31", "33", "2", "1"};
  return own_controls(fmt::format("\033[{}m", codes[static_cast<std::size_t>(style)])) + text +
         own_controls("\033[0m");
}

namespace {

/// Without style.
std::string unstyled(std::string_view text) {
  std::string out;
  bool escape = false;
  for (const char c : text) {
    if (c == '\033')
      escape = true;
    else if (!escape)
      out += c;
    else
      escape = c != 'm';
  }
  return out;
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

} // namespace

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(unstyled(text), begins_character));
}

std::size_t line_width(std::FILE* stream, std::size_t unknown) {
  constexpr std::size_t least = 20;
  const char* const text = std::getenv("COLUMNS");
  const auto requested = base::parse<std::size_t>(text ? text : "").value_or(0);
  if (requested > 0) return std::max(least, requested);
  winsize window{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return known ? std::max<std::size_t>(least, window.ws_col) : unknown;
}

namespace {
constexpr std::size_t gap = 2;          ///< blanks between columns
constexpr std::size_t min_of_text = 16; ///< columns of wrapped text: less is hard to read
constexpr std::size_t min_for_lines = 50, min_of_text_below = 10; ///< on narrower terminals

std::size_t longest_word(const std::string& text) {
  std::istringstream words(text);
  std::size_t longest = 0;
  for (std::string word; words >> word;)
    longest = std::max(longest, width(word));
  return longest + std::min(text.find_first_not_of(' '), text.size());
}

/// The lines of a cell: what it begins with, blanks or a style, each of them begins with.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t columns) {
  if (width(cell) <= columns) return {cell};
  std::string before, text = cell, after;
  if (text.starts_with('\033')) {
    before = text.substr(0, text.find('m') + 1);
    after = own_controls("\033[0m");
    text =
        text.substr(before.size(), text.size() - before.size() - (text.ends_with(after) ? after.size() : 0));
  }
  const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
  std::istringstream wrapped(wrap(text, columns - std::min(blanks, columns), 0));
  std::vector<std::string> lines;
  for (std::string line; std::getline(wrapped, line);)
    lines.push_back(std::string(blanks, ' ').append(before).append(line).append(after));
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

const std::string& cell_at(const std::vector<std::string>& row, std::size_t column) {
  static const std::string none;
  return column < row.size() ? row[column] : none;
}
} // namespace

std::string shortened(const std::string& text, std::size_t most) {
  if (width(text) <= most || text.find('\033') != std::string::npos) return text;
  const auto inside = [&](std::size_t at) { return at < text.size() && !begins_character(text[at]); };
  std::size_t head = most / 2, tail = text.size() - (most - head - 1);
  while (inside(head))
    --head;
  while (inside(tail))
    ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

/// Widths for at most `most` columns in all: the widest column of text gives way first, none below its
/// longest word or, where words may be `cut`, below what is readable.
std::optional<std::vector<std::size_t>> Table::widths(std::size_t most, bool cut) const {
  const std::size_t readable = most < min_for_lines ? min_of_text_below : min_of_text;
  std::vector<std::size_t> wanted, floors;
  std::size_t all = gap * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width(columns_[i].head), word = longest_word(columns_[i].head);
    for (const auto& row : rows_) {
      widest = std::max(widest, width(cell_at(row, i)));
      word = std::max(word, longest_word(cell_at(row, i)));
    }
    wanted.push_back(widest);
    floors.push_back(columns_[i].align == Align::left
                         ? std::min(widest, cut ? readable : std::max(word, readable))
                         : widest);
    all += widest;
  }
  while (all > most) {
    std::size_t widest = wanted.size();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] > floors[i] && (widest == wanted.size() || wanted[i] > wanted[widest])) widest = i;
    if (widest == wanted.size()) return {};
    --wanted[widest];
    --all;
  }
  return wanted;
}

std::string Table::text(std::FILE* stream, std::size_t most) const {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (!columns_[i].head.empty() ||
        std::ranges::any_of(rows_, [i](const auto& row) { return !cell_at(row, i).empty(); }))
      used.push_back(i);
  if (used.empty()) return {};
  if (used.size() < columns_.size()) return only(used).text(stream, most);
  if (const auto fitting = widths(most, false)) return lines(*fitting, stream);
  Table table = narrowed();
  std::string left_out;
  for (;;) {
    if (const auto fitting = table.widths(most, false))
      return table.lines(*fitting, stream) +
             (left_out.empty() ? "" : "  " + wrap("no room for: " + left_out, most, 4) + "\n");
    const auto last = std::ranges::max_element(table.columns_, {}, &Column::rank);
    if (last->rank <= 0) break;
    left_out = last->head + (left_out.empty() ? "" : ", ") + left_out;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < table.columns_.size(); ++i)
      if (&table.columns_[i] != &*last) kept.push_back(i);
    table = table.only(kept);
  }
  return most < min_for_lines ? records(stream, most) : narrowed().parts(stream, most);
}

Table Table::only(const std::vector<std::size_t>& chosen) const {
  Table some({}, title_);
  for (const std::size_t i : chosen)
    some.columns_.push_back(columns_[i]);
  const auto copy = [&](const auto& from, auto& to) {
    for (const auto& row : from) {
      auto& cells = to.emplace_back();
      for (const std::size_t i : chosen)
        cells.push_back(cell_at(row, i));
    }
  };
  copy(rows_, some.rows_);
  copy(narrow_rows_, some.narrow_rows_);
  return some;
}

Table Table::narrowed() const {
  Table narrow = *this;
  for (Column& column : narrow.columns_)
    if (!column.narrow.empty()) column.head = column.narrow;
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t i = 0; i < rows_[r].size(); ++i)
      if (!cell_at(narrow_rows_[r], i).empty()) narrow.rows_[r][i] = narrow_rows_[r][i];
  return narrow;
}

/// As many columns side by side as fit, the others below, each time behind the keys.
std::string Table::parts(std::FILE* stream, std::size_t most) const {
  std::vector<std::size_t> keys{0};
  while (keys.size() < columns_.size() && columns_[keys.size()].key)
    keys.push_back(keys.size());
  std::string text;
  for (std::size_t next = keys.size(); next < columns_.size();) {
    std::vector<std::size_t> chosen = keys;
    std::optional<std::vector<std::size_t>> fitting;
    for (; next < columns_.size(); ++next) {
      chosen.push_back(next);
      auto wider = only(chosen).widths(most, true);
      if (!wider) break;
      fitting = std::move(wider);
    }
    if (!fitting) return records(stream, most);
    if (next < columns_.size()) chosen.pop_back();
    text += (text.empty() ? "" : "\n") + only(chosen).lines(*fitting, stream);
  }
  return text.empty() ? records(stream, most) : text;
}

std::string Table::lines(const std::vector<std::size_t>& widths, std::FILE* stream) const {
  std::string out;
  const auto row_lines = [&](const auto& cell) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      cells.push_back(cell_lines(cut_words(cell(i), widths[i]), widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string text = l < cells[i].size() ? cells[i][l] : std::string();
        const std::string blanks(widths[i] - std::min(width(text), widths[i]), ' ');
        line += std::string(i ? gap : 0, ' ');
        line += columns_[i].align == Align::right ? blanks + text : text + blanks;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  };
  const bool headed = std::ranges::any_of(columns_, [](const Column& c) { return !c.head.empty(); });
  if (headed) row_lines([&](std::size_t i) { return paint(Style::strong, columns_[i].head, stream); });
  for (const auto& row : rows_)
    row_lines([&](std::size_t i) { return cell_at(row, i); });
  return out;
}

std::string Table::records(std::FILE* stream, std::size_t most) const {
  std::string out, last; // an empty first cell stands for the one above
  for (const auto& row : rows_) {
    if (!row.empty() && !row[0].empty())
      last = row[0].substr(std::min(row[0].find_first_not_of(' '), row[0].size()));
    const bool number = columns_[0].align == Align::right && !columns_[0].head.empty();
    std::string fields;
    for (std::size_t i = 1; i < std::min(row.size(), columns_.size()); ++i)
      if (!row[i].empty())
        fields += (fields.empty() ? "" : "; ") +
                  (columns_[i].head.empty() ? row[i] : columns_[i].head + ": " + row[i]);
    const std::string head =
        paint(Style::strong, (number ? columns_[0].head + ": " : std::string()) + last, stream);
    if (width(head) + gap + width(fields) <= most)
      out += head + std::string(fields.empty() ? 0 : gap, ' ') + fields + "\n";
    else
      out += wrap(head, most, 2) + "\n    " + wrap(fields, most, 4) + "\n";
  }
  return out;
}

std::string grouped(std::string number) {
  const std::size_t begin = number.starts_with('-') ? 1 : 0;
  std::size_t end = number.find_first_not_of("0123456789", begin);
  if (end == std::string::npos) end = number.size();
  if (end < number.size() &&
      (number[end] != '.' || number.find_first_not_of("0123456789", end + 1) != std::string::npos))
    return number;
  for (std::size_t at = end; at > begin + 3;) {
    at -= 3;
    number.insert(at, 1, ',');
  }
  return number;
}

std::string format_number(double value, std::optional<double> deviation) {
  constexpr double whole = 1e15; // beyond, digits are not exact
  if (!std::isfinite(value) || std::abs(value) >= whole) return fmt::format("{:.5g}", value);
  if (deviation && *deviation > 0) {
    const int unit = static_cast<int>(std::floor(std::log10(*deviation))) - 1; // of the second digit
    const double step = std::pow(10.0, unit);
    return grouped(
        fmt::format("{:.{}f}", unit > 0 ? std::round(value / step) * step : value, std::max(0, -unit)));
  }
  if (std::floor(value) == value || std::abs(value) >= 100) return grouped(fmt::format("{:.0f}", value));
  return fmt::format("{:.3g}", value);
}

std::string wrap(const std::string& text, std::size_t columns, std::size_t indent) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t used = indent;
  while (words >> word) {
    const bool first = out.empty();
    if (!first && used + 1 + width(word) > columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width(word);
  }
  return out;
}

void print_wrapped(const std::string& text, std::size_t indent, std::string_view lead) {
  print("{}{}\n", lead, wrap(text, line_width(), indent));
}

std::string fit(const std::string& line, std::size_t columns, std::size_t indent) {
  if (width(line) <= columns) return line;
  const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  return std::string(blanks, ' ') + wrap(line, columns, indent);
}

std::string fit_lines(const std::string& text, std::size_t columns) {
  std::string out;
  columns = std::min(columns, max_of_prose);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    out += fit(line, columns, std::min(line.find_first_not_of(' '), line.size()) + 2);
    if (end < text.size()) out += '\n';
    from = end + 1;
  }
  return out;
}

std::string brief(const Reason& reason) {
  return reason.code == ReasonCode::no_pmu ? "no core PMU, see recount doctor" : reason.cause;
}

std::string error_text(const Error& error) {
  const Problem& p = error.problem();
  std::string text = paint(Style::bad, "recount:", stderr) + " " + one_line(p.subject) + ": ";
  for (const char c :
       p.cause) // messages of gnuplot have several lines; indented, none looks like one of recount
    text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  if (!p.setting.empty()) text += " (" + one_line(p.setting) + ")";
  text += "\n";
  if (!p.fix.empty()) text += "  fix: " + p.fix + "\n";
  return text;
}

namespace {

void write_file(const std::string& path, const std::string& text) {
  if (!base::write_file(path, text)) throw base::cannot_write(path, errno);
}

/// A cell without style and indentation; empty where the row is shorter.
std::string plain_cell(const std::vector<std::string>& row, std::size_t column) {
  const std::string text = unstyled(cell_at(row, column));
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

/// The number that grouped() was given.
std::string ungrouped(const std::string& text) {
  std::string digits = text;
  std::erase(digits, ',');
  return grouped(digits) == text ? digits : text;
}

/// "by function" -> "by-function".
std::string in_file_name(const std::string& title) {
  std::string name;
  for (const char c : title)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  if (name.ends_with('-')) name.pop_back();
  return name;
}

document::Table for_report(const Table& table) {
  document::Table exported{table.title(), {}, {}};
  for (const auto& column : table.columns())
    exported.columns.push_back({column.head, column.align == Table::Align::right});
  for (const auto& row : table.rows()) {
    auto& cells = exported.rows.emplace_back();
    for (std::size_t i = 0; i < exported.columns.size(); ++i)
      cells.push_back(plain_cell(row, i));
  }
  return exported;
}

} // namespace

TableExport::TableExport(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (!path_.ends_with(".csv") && !path_.ends_with(".md"))
    throw bad_input("--export " + path_, "the suffix is neither .csv nor .md", "--export tables.csv");
  base::check_writable("--export", path_, base::Output::replaced);
}

void TableExport::write(const std::string& title, const std::vector<Table>& tables) const {
  if (path_.empty()) return;
  document::Document document{title, {}, {}};
  std::string text; // of the first table
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables[i];
    if (table.empty() && (table.data().empty() || path_.ends_with(".md"))) continue;
    if (path_.ends_with(".md")) {
      document.blocks.emplace_back(for_report(table));
    } else if (text.empty()) {
      text = csv_text(table);
    } else {
      const std::string name = in_file_name(table.title());
      write_file(path_.substr(0, path_.size() - 4) + "-" + (name.empty() ? std::to_string(i + 1) : name) +
                     ".csv",
                 csv_text(table));
    }
  }
  write_file(path_, path_.ends_with(".md") ? document::to_markdown(document) : text);
}

std::string csv_text(const Table& table) {
  if (!table.data().empty()) return document::csv_data(table.data());
  auto exported = for_report(table);
  for (auto& row : exported.rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (exported.columns[i].number) row[i] = ungrouped(row[i]);
  return document::csv_table(exported);
}

namespace {

Table printed(const document::Table& table) {
  std::vector<Table::Column> columns;
  for (const auto& column : table.columns)
    columns.push_back(
        {column.head, column.number ? Table::Align::right : Table::Align::left, 0, {}, column.key});
  Table result(columns, table.caption);
  for (const auto& row : table.rows)
    result.add(row);
  result.add_data(table.data);
  return result;
}

/// A block as text.
struct TextWriter {
  std::size_t columns;

  std::string operator()(const document::Heading& heading) const {
    const std::string text = "\n" + paint(Style::strong, wrap(heading.text, columns, 0)) + "\n";
    return heading.level > 1 ? text : text + std::string(std::min(width(heading.text), columns), '=') + "\n";
  }
  std::string operator()(const document::Paragraph& paragraph) const {
    return wrap(paragraph.text, columns, 0) + "\n";
  }
  std::string operator()(const document::List& list) const {
    std::string text;
    for (const auto& item : list.items)
      text += "  - " + wrap(item, columns, 4) + "\n";
    return text;
  }
  std::string operator()(const document::Table& table) const {
    std::string text = "\n" + wrap(table.caption, columns, 0) + "\n" + printed(table).text(stdout, columns);
    for (const auto& note : table.notes)
      text += "  " + wrap(note, columns, 2) + "\n";
    return text;
  }
  std::string operator()(const document::Code& code) const { return "  " + code.text + "\n"; }
  std::string operator()(const document::Picture&) const { return {}; }
};

} // namespace

std::vector<Table> extract_tables(const std::vector<document::Block>& blocks) {
  std::vector<Table> tables;
  for (const auto& block : blocks)
    if (const auto* table = std::get_if<document::Table>(&block)) tables.push_back(printed(*table));
  return tables;
}

std::string document_text(const std::vector<document::Block>& blocks, std::size_t columns) {
  std::string text;
  for (const auto& block : blocks)
    text += std::visit(TextWriter{columns}, block);
  return text;
}

} // namespace recount::command
