// Known names near a mistyped one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace recount::base {

/// Edits (insertion, deletion, substitution, swap of neighbours) from one text to the other, letter case
/// ignored: the optimal string alignment distance. Pure.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// At most `most` of the names, nearest first: those whose edits are at most a third of the longer text (one
/// edit always), then those that contain `wanted` or are contained in it. Letter case is ignored. Pure.
[[nodiscard]] std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& names,
                                               std::size_t most = 3);

/// "did you mean a, b or c?"; `otherwise` when there is no name. For the fix of an Error.
[[nodiscard]] std::string did_you_mean(const std::vector<std::string>& names, std::string otherwise = {});

/// The same with the names nearest to `wanted`.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names,
                                       std::string otherwise = {});

/// For any range of texts.
template <class Names>
requires(!std::is_convertible_v<const Names&, std::vector<std::string>>) [[nodiscard]] std::string
    did_you_mean(std::string_view wanted, const Names& names, std::string otherwise = {}) {
  std::vector<std::string> texts;
  for (const auto& name : names)
    texts.emplace_back(name);
  return did_you_mean(wanted, texts, std::move(otherwise));
}

/// did_you_mean(), or the list of all names when none is near: for short lists.
[[nodiscard]] std::string did_you_mean_or_all(std::string_view wanted, const std::vector<std::string>& names);

} // namespace recount::base
