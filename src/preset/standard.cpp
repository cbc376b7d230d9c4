#include "preset/standard.hpp"

#include "base/data_rows.hpp"
#include "preset/preset_table.hpp"
#include "preset/standard_data.hpp" // made from data/standard.txt by the build

#include <algorithm>
#include <vector>

namespace recount::preset {

std::span<const Standard> standard_presets() {
  static const std::vector<Standard> all = [] {
    std::vector<Standard> presets;
    for (const auto& row : base::data_rows(standard_data, "standard.txt"))
      presets.push_back({row.cells.at(0), row.cells.at(1)});
    return presets;
  }();
  return all;
}

const Standard* standard_preset(std::string_view name) {
  const auto all = standard_presets();
  const auto at = std::ranges::find_if(all, [&](const Standard& s) { return same_word(s.name, name); });
  return at == all.end() ? nullptr : &*at;
}

} // namespace recount::preset
