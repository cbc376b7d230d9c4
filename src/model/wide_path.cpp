// Misses of a first level that is kept in vectors.
#include "model/hierarchy.hpp"
#include "model/wide_lookup.hpp"

namespace recount::model {

[[gnu::always_inline]] RECOUNT_BY_EIGHT inline void Hierarchy::insert_wide(std::size_t at, Level::Entry* set,
                                                                           Level::Entry entry) {
  Level& level = levels_[at];
  const Level::Entry evicted = wide::insert(set, level.wide().shape(), entry);
  if (evicted == Level::empty) return;
  if ((evicted & 1) == 0 && machine_.levels[at].inclusion == Inclusion::non_inclusive)
    ++level.counts.evictions;
  else
    evict(at, evicted);
}

// Of level `at` and those below: afterwards the level has the line.
template <std::size_t at>
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline void Hierarchy::request_wide(std::uint64_t address,
                                                                            Cause cause) {
  if constexpr (at < most_wide)
    if (at < levels_.size()) {
      Level& level = levels_[at];
      const std::uint64_t line = address >> level.shift();
      Level::Entry* const set = level.wide().set_of(line);
      ++level.counts.accesses[number(cause)];
      if (wide::use(set, level.wide().shape(), line, false)) return;
      ++level.counts.misses[number(cause)];
      request_wide<at + 1>(address, cause);
      return insert_wide(at, set, line << 1);
    }
  ++memory_.accesses[number(cause)];
}

template <Cause cause>
RECOUNT_BY_EIGHT void Hierarchy::find_wide(Level::Entry* set, std::uint64_t address) {
  constexpr bool store = cause == Cause::store;
  const std::uint64_t line = address >> wide_shift;
  if (wide::use(set, levels_[0].wide().shape(), line, store)) return;
  if (below_ != Path::wide) return miss_first(address, cause, store);
  ++levels_[0].counts.misses[number(cause)];
  request_wide<1>(address, cause);
  insert_wide(0, set, line << 1 | Level::Entry{store});
}
template void Hierarchy::find_wide<Cause::load>(Level::Entry* set, std::uint64_t address);
template void Hierarchy::find_wide<Cause::store>(Level::Entry* set, std::uint64_t address);

// After a miss in the first level, if below_ is wide.
RECOUNT_BY_EIGHT void Hierarchy::miss_wide(std::uint64_t address, Cause cause, bool dirty) {
  request_wide<1>(address, cause);
  const std::uint64_t line = address >> wide_shift;
  insert_wide(0, levels_[0].wide().set_of(line), line << 1 | Level::Entry{dirty});
}

} // namespace recount::model
