// Whole files, and texts in pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::base {

/// What a descriptor holds up to its end. Nothing, with errno, when it cannot be read or holds more than
/// `most` bytes (EFBIG).
[[nodiscard]] std::optional<std::string> read_all(int fd, std::size_t most = std::string::npos);
/// The whole file. Nothing, with errno, when it cannot be read.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);
/// The same. Throws recount::Error (bad_input), with this fix, when it cannot be read.
[[nodiscard]] std::string require_file(const std::string& path, const std::string& fix = {});
/// The file without white space at its ends, or nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> read_trimmed(const std::string& path);
/// The file as one integer, or nothing when it cannot be read or is none ("max").
[[nodiscard]] std::optional<long long> read_number(const std::string& path);

[[nodiscard]] std::string_view trim(std::string_view text);
/// In ASCII, as tolower(3) in the C locale.
[[nodiscard]] std::string lower_case(std::string_view text);
/// The pieces between separators, empty ones included.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> split(std::string&& text, char separator) = delete; ///< pieces would dangle
/// A list as the kernel writes sets of CPUs: "0-3,8" is 0 1 2 3 8. Empty when the text is no such list.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

// Tables in text files: rows of cells, and comments that start with #.

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

/// The words of comma-separated lists, empty ones left out, each once. Pure.
[[nodiscard]] inline std::vector<std::string> list_words(const std::vector<std::string>& lists) {
  std::vector<std::string> all;
  for (const std::string& list : lists)
    for (std::string& word : words(list, ','))
      if (std::find(all.begin(), all.end(), word) == all.end()) all.push_back(std::move(word));
  return all;
}

/// `make(one)`, or a member of it, for each of a list.
template <class List, class Make>
[[nodiscard]] auto mapped(const List& list, const Make& make) {
  std::vector<std::decay_t<std::invoke_result_t<const Make&, decltype(*std::begin(list))>>> all;
  for (const auto& one : list)
    all.push_back(std::invoke(make, one));
  return all;
}

/// The value at a key of a map; a default-constructed one where there is none.
template <class Map, class Key = typename Map::key_type>
[[nodiscard]] const typename Map::mapped_type& value_at(const Map& map, const Key& key) {
  static const typename Map::mapped_type none{};
  const auto at = map.find(key);
  return at == map.end() ? none : at->second;
}

/// The elements of a list with the same `key(one)`, by key.
template <class List, class Key>
[[nodiscard]] auto grouped(const List& list, const Key& key) {
  using One = typename List::value_type;
  std::map<std::decay_t<std::invoke_result_t<const Key&, const One&>>, std::vector<const One*>> groups;
  for (const One& one : list)
    groups[std::invoke(key, one)].push_back(&one);
  return groups;
}

// Messages of programs on their sections (recount/sections.h).

/// The environment variable with the number of the descriptor to which a program writes them.
inline constexpr const char* sections_variable = "RECOUNT_SECTIONS_FD";

/// "EDGE [@NANOSECONDS ]NAME". Parts that are missing are empty.
struct SectionLine {
  std::string_view edge, name;
  std::optional<std::uint64_t> time; ///< of the monotonic clock
};
/// Parses one line of a message; any text gives a value. Pure.
[[nodiscard]] SectionLine parse_section_line(std::string_view line);

// Searching by pattern.

/// A search word: with any of * ? [ it is a pattern for the whole text (glob(7)), otherwise it may occur
/// anywhere in it. Case is ignored. An empty word matches everything. Pure.
class Pattern {
public:
  explicit Pattern(std::string_view word);
  [[nodiscard]] bool matches(const std::string& text) const;
  [[nodiscard]] bool empty() const noexcept { return word_.empty(); }
  [[nodiscard]] bool glob() const noexcept { return glob_; }

private:
  std::string word_;
  bool glob_;
};

// UTF-8 text from untrusted sources: character by character, and without terminal controls.

/// Removes the first character from UTF-8 text that is not empty and returns it; U+FFFD for invalid bytes.
[[nodiscard]] char32_t next_character(std::string_view& text);
/// Appends a character as UTF-8.
void append_character(std::string& to, char32_t character);
/// Whether a character controls the terminal or the layout of text: C0 and C1 controls, DEL, directional
/// formatting (Unicode Standard Annex 9), invisible characters.
[[nodiscard]] bool is_control(char32_t character);

/// Text that is safe to print on a terminal: controls become \u001b, as in JSON (RFC 8259, section 7), and
/// bytes that are not UTF-8 become \xff. Idempotent; JSON stays valid.
[[nodiscard]] std::string printable(std::string_view text);
/// The same for the first character, or for all of ASCII that precede another one; removed from `text`.
void append_printable(std::string& to, std::string_view& text);

} // namespace recount::base
