// The way into a hierarchy whose first level is kept in vectors.
#pragma once

#include "model/hierarchy.hpp"
#include "model/wide_lookup.hpp"

namespace recount::model {

template <Cause cause, bool with_tlb>
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline void Hierarchy::enter_wide(std::uint64_t address) {
  constexpr bool store = cause == Cause::store;
  const std::uint64_t line = address >> shift_;
  if constexpr (with_tlb) translate(address, cause);
  Level::Entry* const set = levels_.front().wide().eight(line);
  if ((store ? *set != (line << 1 | 1) : *set >> 1 != line) && !wide::use(set, line, store))
    bring(address, cause, store);
}

/// The way in for loads and stores alike, with what it needs in registers; while it is used, nothing else is.
template <bool with_tlb>
class Hierarchy::WideEntrance {
public:
  /// Only where entrance() is wide.
  explicit WideEntrance(Hierarchy& caches)
      : caches_(caches),
        sets_(caches.levels_.front().wide()),
        first_(sets_.eight(0)),
        shift_(caches.shift_) {}
  /// As load() or store(), not counted; false: nothing is done, as the access crosses a line.
  [[gnu::always_inline]] RECOUNT_BY_EIGHT bool put(std::uint64_t address, unsigned bytes, bool store) const {
    const std::uint64_t line = address >> shift_;
    if ((address + bytes - 1) >> shift_ != line) [[unlikely]]
      return false;
    const Cause cause = store ? Cause::store : Cause::load;
    if constexpr (with_tlb) caches_.translate(address, cause);
    Level::Entry* const set = first_ + (line & mask_) * wide::lanes;
    const Level::Entry other = *set ^ line << 1; // 0 or 1: the line, clean or dirty
    if (other - Level::Entry{store} > 1 - Level::Entry{store} && !wide::use(set, line, store))
      caches_.bring(address, cause, store);
    return true;
  }

private:
  Hierarchy& caches_;
  WideSets& sets_;
  Level::Entry* first_;
  std::uint64_t mask_ = sets_.mask();
  unsigned shift_;
};

} // namespace recount::model
