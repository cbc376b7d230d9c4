// What `recount stat -e` names: events, presets and metrics, some of them in groups.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::stat {

/// One name, and the braces that it stood in.
struct Item {
  std::string name;
  std::optional<std::size_t> group; ///< counted from 0 over all lists; none: in no braces
};

/// Takes lists apart: names with commas between them, and {groups} of such. A comma within PMU/terms/ belongs
/// to the name. A name that is given twice counts once. Throws Error (bad_input). Pure.
[[nodiscard]] std::vector<Item> parse_items(const std::vector<std::string>& lists);

} // namespace recount::stat
