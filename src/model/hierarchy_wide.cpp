// What misses a first level that is kept in vectors.
#include "model/hierarchy_wide.hpp"

namespace recount::model {

[[gnu::always_inline]] RECOUNT_BY_EIGHT inline void Hierarchy::take_in_wide(std::size_t at, Level::Entry* set,
                                                                            Level::Entry entry) {
  Level& level = levels_[at];
  const Level::Entry leaves = wide::insert(set, level.wide().shape(), entry);
  if (leaves == Level::empty) return;
  if ((leaves & 1) == 0 && machine_.levels[at].inclusion == Inclusion::non_inclusive)
    ++level.counts.evictions;
  else
    evict(at, leaves);
}

// Of level `at` and what is below: afterwards the level has the line.
template <>
inline void Hierarchy::ask_wide<Hierarchy::most_wide>(std::uint64_t, Cause cause) {
  ++memory_.accesses[number(cause)];
}
template <std::size_t at>
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline void Hierarchy::ask_wide(std::uint64_t address, Cause cause) {
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return;
  }
  Level& level = levels_[at];
  const std::uint64_t line = address >> level.shift();
  Level::Entry* const set = level.wide().set_of(line);
  ++level.counts.accesses[number(cause)];
  if (wide::use(set, level.wide().shape(), line, false)) return;
  ++level.counts.misses[number(cause)];
  ask_wide<at + 1>(address, cause);
  take_in_wide(at, set, line << 1);
}

template <Cause cause>
RECOUNT_BY_EIGHT void Hierarchy::look_wide(Level::Entry* set, std::uint64_t address, Level::Entry dirty) {
  constexpr bool store = cause == Cause::store;
  if (wide::use_key(set, levels_[0].wide().shape(), dirty, store)) return;
  if (below_ != Path::wide) return bring(address, cause, store);
  ++levels_[0].counts.misses[number(cause)];
  bring_wide(set, address, cause, store);
}
template void Hierarchy::look_wide<Cause::load>(Level::Entry* set, std::uint64_t address, Level::Entry dirty);
template void Hierarchy::look_wide<Cause::store>(Level::Entry* set, std::uint64_t address,
                                                 Level::Entry dirty);

// After a miss of the first level, if below_ is wide; `set`: its set.
RECOUNT_BY_EIGHT void Hierarchy::bring_wide(Level::Entry* set, std::uint64_t address, Cause cause,
                                            bool dirty) {
  ask_wide<1>(address, cause);
  take_in_wide(0, set, address >> wide_shift << 1 | Level::Entry{dirty});
}

// After a miss of the second level, too.
RECOUNT_BY_EIGHT void Hierarchy::bring_from_third(Level::Entry* set, std::uint64_t address, Cause cause,
                                                  bool dirty) {
  ++levels_[0].counts.misses[number(cause)];
  Level& second = levels_[1];
  ++second.counts.accesses[number(cause)];
  ++second.counts.misses[number(cause)];
  ask_wide<2>(address, cause);
  const std::uint64_t line = address >> second.shift();
  take_in_wide(1, second.wide().set_of(line), line << 1);
  take_in_wide(0, set, address >> wide_shift << 1 | Level::Entry{dirty});
}

} // namespace recount::model
