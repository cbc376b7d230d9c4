// What `recount stat -e` names: events, presets and metrics, some of them in groups.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::stat {

/// One name and its group.
struct Item {
  std::string name;
  std::optional<std::size_t> group; ///< counted from 0 over all lists; none: not in braces
};

/// Parses lists of names, separated by commas, and {groups} of names. A comma within PMU/terms/ belongs
/// to the name. Repeated names are removed. Throws Error (bad_input). Pure.
[[nodiscard]] std::vector<Item> parse_items(const std::vector<std::string>& lists);

} // namespace recount::stat
