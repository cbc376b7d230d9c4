// Ranges as the user types them: 4K:4M:x2, 600:3000:400, 1,2,8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace recount::sweep {

/// Maximum number of values of a range.
inline constexpr std::size_t most_values = 100'000;

/// The values of a range, in the order given, each once. `FIRST:LAST:xFACTOR` multiplies (FACTOR > 1, may
/// have decimals), `FIRST:LAST:STEP` adds, `A,B,C` lists; items of a list may be ranges. Numbers are whole
/// and take K, M or G (powers of 1024). LAST is reached when a step falls on it, never passed.
/// Throws recount::Error (bad_input) with `subject` ("--size") as its subject.
[[nodiscard]] std::vector<std::int64_t> parse_range(const std::string& text, const std::string& subject);

/// One number with an optional suffix, as in a range. Throws likewise.
[[nodiscard]] std::int64_t parse_size(const std::string& text, const std::string& subject);

} // namespace recount::sweep
