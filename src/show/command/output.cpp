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

} // namespace

TableExport::TableExport(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (!path_.ends_with(".csv") && !path_.ends_with(".md"))
    throw bad_input("--export " + path_, "the suffix is neither .csv nor .md", "--export tables.csv");
  base::check_writable("--export", path_, base::Output::replaced);
}

void TableExport::write(const std::string& title, const std::vector<show::Table>& tables) const {
  if (path_.empty()) return;
  document::Document document{title, {}, {}};
  std::string text; // of the first table
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const show::Table& table = tables[i];
    if (table.empty() && (table.data.empty() || path_.ends_with(".md"))) continue;
    if (path_.ends_with(".md")) {
      document.blocks.emplace_back(table);
    } else if (text.empty()) {
      text = show::csv_text(table);
    } else {
      const std::string name = in_file_name(table.caption);
      write_file(path_.substr(0, path_.size() - 4) + "-" + (name.empty() ? std::to_string(i + 1) : name) +
                     ".csv",
                 show::csv_text(table));
    }
  }
  write_file(path_, path_.ends_with(".md") ? document::to_markdown(document) : text);
}

namespace {

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
  std::string operator()(const show::Table& table) const {
    std::string text = "\n" + wrap(table.caption, columns, 0) + "\n" + table_text(table, stdout, columns);
    for (const auto& note : table.notes)
      text += "  " + wrap(note, columns, 2) + "\n";
    return text;
  }
  std::string operator()(const document::Code& code) const { return "  " + code.text + "\n"; }
  std::string operator()(const document::Picture&) const { return {}; }
};

} // namespace

std::vector<show::Table> extract_tables(const std::vector<document::Block>& blocks) {
  std::vector<show::Table> tables;
  for (const auto& block : blocks)
    if (const auto* table = std::get_if<show::Table>(&block)) tables.push_back(*table);
  return tables;
}

std::string document_text(const std::vector<document::Block>& blocks, std::size_t columns) {
  std::string text;
  for (const auto& block : blocks)
    text += std::visit(TextWriter{columns}, block);
  return text;
}

} // namespace recount::command
