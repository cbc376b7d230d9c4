#include "symbol/units.hpp"

#include <algorithm>
#include <dwarf.h>

namespace recount::symbol {

Units::Units(Dwarf* dwarf) {
  constexpr std::size_t most_ranges = 16'000'000;
  Dwarf_CU* unit = nullptr;
  std::uint8_t type = 0;
  Unit now;
  while (dwarf && dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &now.skeleton, &now.die) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    if (type == DW_UT_compile || dwarf_tag(&now.die) == DW_TAG_invalid) now.die = now.skeleton;
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&now.skeleton, at, &base, &low, &high)) > 0;) {
      if (ranges_.size() >= most_ranges) return;
      if (low < high) ranges_.push_back({low, high, static_cast<std::uint32_t>(units_.size())});
    }
    units_.push_back(now);
  }
  std::ranges::sort(ranges_, {}, &Range::low);
}

std::optional<std::size_t> Units::find(std::uint64_t address) const {
  auto at = std::ranges::upper_bound(ranges_, address, {}, &Range::low);
  for (int tries = 0; tries < 8 && at != ranges_.begin(); ++tries) {
    --at;
    if (address < at->high) return at->unit;
  }
  return {};
}

} // namespace recount::symbol
