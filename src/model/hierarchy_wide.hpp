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
  if (!is_newest<store>(line) && !wide::use(levels_.front().wide().eight(line), line, store))
    bring(address, cause, store);
}

} // namespace recount::model
