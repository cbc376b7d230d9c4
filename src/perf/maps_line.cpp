#include "perf/maps_line.hpp"

#include <algorithm>
#include <charconv>
#include <sys/mman.h>
#include <sys/sysmacros.h>

namespace recount::perf {
namespace {

/// Takes a number up to `end`, and the end too.
bool take(std::string_view& text, int base, char end, std::uint64_t& number) {
  const auto [at, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (wrong != std::errc() || at == text.data() + text.size() || *at != end) return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return true;
}

} // namespace

std::optional<Mapping> parse_maps_line(std::string_view line) {
  Mapping m;
  std::uint64_t end = 0, major = 0, minor = 0;
  if (!take(line, 16, '-', m.start) || !take(line, 16, ' ', end) || end < m.start || line.size() < 5)
    return {};
  m.length = end - m.start;
  m.protection = (line[0] == 'r' ? PROT_READ : 0U) | (line[1] == 'w' ? PROT_WRITE : 0U) |
                 (line[2] == 'x' ? PROT_EXEC : 0U);
  line.remove_prefix(5);
  if (!take(line, 16, ' ', m.offset) || !take(line, 16, ':', major) || !take(line, 16, ' ', minor)) return {};
  m.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  m.file = "//anon"; // as the kernel's records call memory without a name
  if (!take(line, 10, ' ', m.inode)) return m;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.empty()) m.file = line;
  return m;
}

} // namespace recount::perf
