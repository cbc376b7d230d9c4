// Which known names a mistyped one may have meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace recount::event {

/// Edits (insert, delete, replace, swap of neighbours) from one word to the other, case ignored. Pure.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates nearest to a word, best first, at most `most`: those within a third of its length in edits,
/// then those that contain it. Pure.
[[nodiscard]] std::vector<std::string>
nearest(std::string_view word, const std::vector<std::string>& candidates, std::size_t most = 4);

/// "did you mean a, b or c?", or nothing when there is no name.
[[nodiscard]] std::string did_you_mean(const std::vector<std::string>& names);

} // namespace recount::event
