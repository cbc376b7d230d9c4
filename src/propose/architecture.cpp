#include "propose/architecture.hpp"

#include "architecture_data.hpp"
#include "base/data_rows.hpp"

namespace recount::propose {

const std::vector<ArchitectureRow>& architecture_rows() {
  static const std::vector<ArchitectureRow> all = [] {
    std::vector<ArchitectureRow> found;
    for (std::string_view text = architecture_data; const auto line : base::split(text, '\n')) {
      const auto bar = line.find('|'); // formulas have bars as well
      if (line.starts_with('#') || bar == line.npos) continue;
      const auto fields = base::split(base::trim(line.substr(bar + 1)), ',');
      ArchitectureRow& row = found.emplace_back();
      row.pmus = base::trim(line.substr(0, bar));
      row.preset.name = fields.at(0);
      row.preset.type = derived_named(fields.at(1)).value();
      row.preset.place.line = -static_cast<int>(found.size());
      const std::size_t first = row.preset.type == Derived::postfix ? 3 : 2;
      if (first == 3) row.preset.postfix = fields.at(2);
      for (std::size_t i = first; i < fields.size(); ++i)
        row.preset.natives.push_back({std::string(fields[i]), static_cast<int>(i)});
    }
    return found;
  }();
  return all;
}

} // namespace recount::propose
