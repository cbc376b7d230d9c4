// Numbers as event names write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace recount::base {

/// A whole unsigned number, decimal or hexadecimal after 0x; none for anything else. Pure.
[[nodiscard]] inline std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

} // namespace recount::base
