#include "preset/preset_table.hpp"

#include "base/names.hpp"
#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace recount::preset {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Fields as strtok(",") gives them: runs of commas are one.
std::vector<Field> split(std::string_view text, int line, std::size_t offset) {
  std::vector<Field> fields;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && text[at] == ',')
      ++at;
    if (at == text.size()) return fields;
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    const std::string_view word = trim_blanks(whole);
    const auto column = offset + at + static_cast<std::size_t>(word.data() - whole.data()) + 1;
    fields.push_back({std::string(word), {line, static_cast<int>(column)}});
    at = end;
  }
}

Line parse_line(std::string_view text, int number, std::size_t offset) {
  Line line;
  line.number = number;
  line.continued = offset > 0;
  line.fields = split(text.substr(0, text.find('\0')), number, offset);
  if (line.fields.empty() || line.fields.front().text.empty()) return line;
  const std::string& word = line.fields.front().text;
  if (word.front() == '#') {
    line.kind = Kind::comment;
    line.comment = std::string(text.substr(text.find('#') + 1));
    line.fields.clear();
  } else if (same_word(word, "CPU")) {
    line.kind = Kind::cpu;
  } else if (same_word(word, "PRESET") || same_word(word, "EVENT")) {
    line.kind = Kind::preset;
  } else {
    line.kind = Kind::other;
  }
  return line;
}

} // namespace

bool same_word(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string_view trim_blanks(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string trim_note(std::string_view text) {
  text = trim_blanks(text);
  constexpr std::string_view marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", pairs = "()<>{}[]";
  if (text.empty() || marks.find(text.front()) == marks.npos) return std::string(text);
  const char ends[] = {text.front(), text.back()};
  // Each pair begins at an even position.
  const bool pair = ends[0] == ends[1] || pairs.find(std::string_view(ends, 2)) % 2 == 0;
  if (!pair) return std::string(text);
  return text.size() < 2 ? std::string{} : std::string(text.substr(1, text.size() - 2));
}

bool is_description(std::string_view word) noexcept {
  return same_word(word, "NOTE") || same_word(word, "LDESC") || same_word(word, "SDESC");
}

std::vector<std::string> row_terms(const Line& line, Derived type) {
  std::vector<std::string> terms;
  const bool has_formula = type == Derived::postfix || type == Derived::infix;
  for (std::size_t i = has_formula ? 4 : 3; i < line.fields.size(); ++i) {
    const std::string& term = line.fields[i].text;
    if (term.empty() || is_description(term)) break;
    terms.push_back(term);
  }
  return terms;
}

const Line* line_at(const Document& document, Place place) noexcept {
  const auto at = std::ranges::lower_bound(document.lines, place.line, {}, &Line::number);
  for (auto line = at; line != document.lines.end() && line->number == place.line; ++line)
    if (!line->fields.empty() && line->fields.front().place == place) return &*line;
  return nullptr;
}

const std::vector<std::size_t>& Document::rows_of(std::string_view cpu) const {
  static const std::vector<std::size_t> none;
  const auto at = cpu_rows.find(lower_case(cpu));
  return at == cpu_rows.end() ? none : at->second;
}

namespace {

void add_line(Document& document, Line line) {
  if (line.kind == Kind::preset) document.presets.push_back(document.lines.size());
  if (line.kind == Kind::other) document.others.push_back(document.lines.size());
  if (line.kind == Kind::cpu && line.fields.size() > 1 && !line.fields[1].text.empty())
    document.cpu_rows[lower_case(line.fields[1].text)].push_back(document.lines.size());
  document.lines.push_back(std::move(line));
}

} // namespace

Document parse(std::string_view text) {
  Document document;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const bool newline = end < text.size();
    // A line that fills the buffer exactly leaves its newline for the next read, which then sees an empty
    // line.
    for (std::size_t at = 0; at == 0 || at < whole.size(); at += longest_line) {
      const std::string_view piece = whole.substr(at, longest_line);
      if (!piece.empty() && piece.front() == '\0') {
        document.ended_by_nul = number;
        return document;
      }
      add_line(document, parse_line(piece, number, at));
    }
    text.remove_prefix(end + (newline ? 1 : 0));
  }
  return document;
}

std::string_view mistyped_keyword(std::string_view word) {
  constexpr std::pair<std::string_view, std::size_t> keywords[] = {{"PRESET", 2}, {"EVENT", 2}, {"CPU", 1}};
  constexpr std::size_t longest = 8; // of a word with two edits
  if (word.size() > longest) return {};
  for (const auto& [keyword, edits] : keywords)
    if (base::edit_distance(word, keyword) <= edits) return keyword;
  return {};
}

bool names_component(const Line& line) {
  return line.kind == Kind::other && line.fields.size() == 2 && !line.fields[1].text.empty() &&
         mistyped_keyword(line.fields[0].text).empty() &&
         line.fields[0].text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

std::vector<ComponentBlock> component_blocks(const Document& document) {
  std::vector<ComponentBlock> blocks;
  bool open = false;
  for (const Line& line : document.lines) {
    if (names_component(line)) {
      if (!open || !blocks.back().rows.empty() || blocks.back().component != line.fields[0].text)
        blocks.push_back({line.fields[0].text, {}, line.fields[0].place, {}});
      blocks.back().devices.push_back(line.fields[1].text);
      open = true;
    } else if (line.kind == Kind::preset) {
      if (open) blocks.back().rows.push_back(line);
    } else if (line.kind != Kind::comment && line.kind != Kind::blank) {
      open = false;
    }
  }
  return blocks;
}

std::string structure_problem(const ComponentBlock& block, const Line& row) {
  const auto& f = row.fields;
  if (f.size() < 2) return "the name is missing";
  if (f.size() < 3) return "the derived type is missing";
  const auto type = derived_named(f[2].text);
  if (!type) return "unknown derived type: " + f[2].text;
  const std::size_t first = *type == Derived::postfix || *type == Derived::infix ? 4 : 3;
  std::size_t terms = 0;
  for (std::size_t i = first; i < f.size() && !is_description(f[i].text); ++i, ++terms)
    if (!f[i].text.starts_with(block.component + "::") && !is_preset(f[i].text))
      return fmt::format("{} is not an event of {}", f[i].text, block.component);
  return terms == 0 ? "it has no terms" : std::string{};
}

std::optional<PapiVersion> parse_papi_version(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "7.0") return PapiVersion::v7_0;
  if (text == "7.3") return PapiVersion::v7_3;
  throw bad_input("--papi-version " + text, "unknown PAPI version",
                  "--papi-version 7.0 (also 7.1 and 7.2; 8 terms) or 7.3 (12 terms)");
}

NeededVersion needed_version(const Document& document) {
  for (const Line& line : document.lines)
    if (names_component(line))
      return {PapiVersion::v7_3, line.fields[0].place,
              fmt::format("presets of the component {}", line.fields[0].text)};
  return {};
}

} // namespace recount::preset
