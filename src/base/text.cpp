#include "base/text.hpp"

#include "base/format.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>

using namespace std::string_view_literals;

namespace recount::base {

std::optional<std::string> read_all(int fd, std::size_t most) {
  std::string text;
  std::array<char, 1 << 14> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) return text;
    if (static_cast<std::size_t>(got) > most - text.size()) {
      errno = EFBIG;
      return {};
    }
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

std::optional<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  constexpr std::size_t largest = 256 << 20; // limit for files without end, such as /dev/zero
  auto text = read_all(fd, largest);
  const int error = errno;
  ::close(fd);
  errno = error;
  return text;
}

std::string require_file(const std::string& path, const std::string& fix) {
  if (auto text = read_file(path)) return *std::move(text);
  throw bad_input(printable(path), std::string("cannot be read: ") + std::strerror(errno), fix);
}

std::optional<std::string> read_trimmed(const std::string& path) {
  auto text = read_file(path);
  if (text) text = std::string(trim(*text));
  return text;
}

std::optional<long long> read_number(const std::string& path) {
  const auto text = read_trimmed(path);
  return text ? parse<long long>(*text) : std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\0"sv; // device-tree files end in NUL
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (const auto piece : split(trim(text), ',')) {
    const auto dash = piece.find('-');
    const auto first = parse<int>(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse<int>(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1 << 20) return {};
    for (int cpu = *first; cpu <= *last; ++cpu)
      cpus.push_back(cpu);
  }
  return cpus;
}

namespace {
/// Removes the first word and the blank after it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}
} // namespace

SectionLine parse_section_line(std::string_view line) {
  SectionLine parsed;
  parsed.edge = take_word(line);
  parsed.name = line;
  if (line.starts_with('@')) parsed.time = parse<std::uint64_t>(take_word(line).substr(1));
  if (parsed.time) parsed.name = line;
  return parsed;
}

Pattern::Pattern(std::string_view word)
    : word_(word), glob_(word.find_first_of("*?[") != std::string_view::npos) {}

bool Pattern::matches(const std::string& text) const {
  if (word_.empty()) return true;
  if (glob_) return fnmatch(word_.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
  return strcasestr(text.c_str(), word_.c_str()) != nullptr;
}

namespace {

constexpr char32_t replacement = 0xFFFD;

/// Number of continuation bytes after this first byte; -1: not a first byte.
int continuation_bytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first < 0xE0) return 1;
  if (first >= 0xE0 && first < 0xF0) return 2;
  if (first >= 0xF0 && first < 0xF5) return 3;
  return -1;
}

} // namespace

char32_t next_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  const int more = continuation_bytes(first);
  if (more < 0) return replacement;
  auto character = static_cast<char32_t>(more == 0 ? first : first & (0x3FU >> static_cast<unsigned>(more)));
  for (int i = 0; i < more; ++i) {
    if (text.empty() || (static_cast<unsigned char>(text.front()) & 0xC0U) != 0x80U) return replacement;
    character = (character << 6U) | (static_cast<unsigned char>(text.front()) & 0x3FU);
    text.remove_prefix(1);
  }
  constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000}; // less would be an overlong form
  const bool surrogate = character >= 0xD800 && character < 0xE000;
  return character < least[more] || surrogate || character > 0x10FFFF ? replacement : character;
}

void append_character(std::string& to, char32_t c) {
  constexpr unsigned lead[] = {0, 0xC0, 0xE0, 0xF0}; // by the number of bytes that follow
  const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  to += static_cast<char>(lead[more] | c >> 6 * more);
  for (unsigned i = more; i-- > 0;)
    to += static_cast<char>(0x80U | (c >> 6 * i & 0x3FU));
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || c == 0xFFFE || c == 0xFFFF || (c >= 0xE0000 && c <= 0xE007F);
}

namespace {
constexpr bool is_plain(char c) {
  return c >= ' ' && c <= '~';
}
} // namespace

void append_printable(std::string& to, std::string_view& text) {
  const auto run = static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
  if (run > 0) {
    to += text.substr(0, run);
    text.remove_prefix(run);
    return;
  }
  const std::string_view before = text;
  const char32_t c = next_character(text);
  const std::string_view bytes = before.substr(0, before.size() - text.size());
  const auto out = std::back_inserter(to);
  if (c == replacement && bytes != "\xEF\xBF\xBD") {
    for (const char byte : bytes)
      fmt::format_to(out, "\\x{:02x}", static_cast<unsigned char>(byte));
  } else if (!is_control(c)) {
    to += bytes;
  } else if (c < 0x10000) {
    fmt::format_to(out, "\\u{:04x}", static_cast<std::uint32_t>(c));
  } else { // as JSON writes it: two surrogates (RFC 8259, section 7)
    const auto rest = static_cast<std::uint32_t>(c) - 0x10000U;
    fmt::format_to(out, "\\u{:04x}\\u{:04x}", 0xD800U + (rest >> 10U), 0xDC00U + (rest & 0x3FFU));
  }
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty())
    append_printable(out, text);
  return out;
}

} // namespace recount::base
