// Text from elsewhere (names in programs, in files, from sockets) on a terminal.
#pragma once

#include "base/characters.hpp"
#include "command/output.hpp"

#include <string>

namespace recount::command {

/// At most so wide, cut in the middle, since names differ at both ends.
[[nodiscard]] inline std::string shortened(const std::string& text, std::size_t most) {
  if (width(text) <= most) return text;
  const auto inside = [&](std::size_t at) { // of a character of several bytes
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t head = most / 2, tail = text.size() - (most - head - 1);
  while (inside(head))
    --head;
  while (inside(tail))
    ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

} // namespace recount::command
