#include "symbol/scopes.hpp"

#include <algorithm>
#include <dwarf.h>
#include <tuple>

namespace recount::symbol {
namespace {
constexpr std::size_t most_scopes = 4'000'000; ///< of one unit, whatever a file states
constexpr int most_nesting = 200;

const char* text_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&die, name, &attribute) ? dwarf_formstring(&attribute) : nullptr;
}
} // namespace

std::string name_of(Dwarf_Die& die) {
  const char* name = text_of(die, DW_AT_linkage_name);
  if (!name) name = text_of(die, DW_AT_MIPS_linkage_name);
  if (!name) name = text_of(die, DW_AT_name);
  return name ? demangle(name) : std::string();
}

Scopes::Scopes(Unit& unit) {
  walk(unit.die, 0, 0);
  std::ranges::sort(scopes_, [](const Scope& a, const Scope& b) {
    return std::tuple(a.low, a.depth) < std::tuple(b.low, b.depth);
  });
}

void Scopes::add(Dwarf_Die& die, std::uint32_t depth, bool inlined) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (ptrdiff_t at = 0;
       scopes_.size() < most_scopes && (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
    if (low < high) scopes_.push_back({low, high, depth, die, inlined});
}

void Scopes::walk(Dwarf_Die& parent, std::uint32_t depth, int nesting) {
  Dwarf_Die die;
  if (nesting > most_nesting || dwarf_child(&parent, &die) != 0) return;
  do {
    switch (dwarf_tag(&die)) {
    case DW_TAG_subprogram:
      add(die, 0, false);
      walk(die, 1, nesting + 1);
      break;
    case DW_TAG_inlined_subroutine:
      add(die, depth, true);
      walk(die, depth + 1, nesting + 1);
      break;
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_module:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block: walk(die, depth, nesting + 1); break;
    default: break;
    }
  } while (scopes_.size() < most_scopes && dwarf_siblingof(&die, &die) == 0);
}

std::vector<Scope> Scopes::at(std::uint64_t address) const {
  std::vector<Scope> found;
  const auto after = std::ranges::upper_bound(scopes_, address, {}, &Scope::low);
  // Back to the function itself; its inlined parts begin after it begins, but a hot function may be split.
  for (auto it = after; it != scopes_.begin();) {
    --it;
    if (address < it->high) found.push_back(*it);
    if (it->depth == 0) break;
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Scope::depth);
  return found;
}

} // namespace recount::symbol
