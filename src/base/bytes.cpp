#include "base/bytes.hpp"

#include <fmt/format.h>

#include <array>

namespace recount::analysis {

std::string bytes_text(double bytes, bool compact) {
  static constexpr std::array<const char*, 4> prefix{"", "K", "M", "G"};
  std::size_t power = 0;
  while (bytes >= 1024 && power + 1 < prefix.size()) {
    bytes /= 1024;
    ++power;
  }
  const std::string number = fmt::format("{:.4g}", bytes);
  if (compact) return number + prefix[power];
  return number + " " + prefix[power] + (power > 0 ? "iB" : "B");
}

} // namespace recount::analysis
