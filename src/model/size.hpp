// Sizes in text: "32K".
#pragma once

#include "base/format.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace recount::model {

/// "32K" in bytes: a number from 1, with K, M or G (powers of 1024) or without. Nothing for anything else.
[[nodiscard]] inline std::optional<std::int64_t> parse_size(std::string_view text) {
  const auto unit = std::string_view("KMG").find(text.empty() ? ' ' : text.back());
  const std::int64_t factor = unit == std::string_view::npos ? 1 : std::int64_t{1} << (10 * (unit + 1));
  if (factor > 1) text.remove_suffix(1);
  const auto number = base::parse<std::int64_t>(text);
  if (!number || *number < 1 || *number > std::numeric_limits<std::int64_t>::max() / factor) return {};
  return *number * factor;
}

} // namespace recount::model
