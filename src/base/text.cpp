#include "base/text.hpp"

#include "base/format.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

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

std::optional<std::string> read_line(const std::string& path) {
  auto text = read_file(path);
  if (text) text = std::string(trim(*text));
  return text;
}

std::optional<long long> read_number(const std::string& path) {
  const auto text = read_line(path);
  return text ? parse<long long>(*text) : std::nullopt;
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

Pattern::Pattern(std::string_view word)
    : word_(word), glob_(word.find_first_of("*?[") != std::string_view::npos) {}

bool Pattern::matches(const std::string& text) const {
  if (word_.empty()) return true;
  if (glob_) return fnmatch(word_.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
  return strcasestr(text.c_str(), word_.c_str()) != nullptr;
}

} // namespace recount::base
