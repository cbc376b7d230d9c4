#include "model/sampling.hpp"

#include <cmath>

namespace recount::model {
namespace {

/// Every number of `counts`, changed by `change`.
template <class Change>
void for_each(Counts& counts, const Counts& other, Change&& change) {
  const auto levels = [&](std::vector<LevelCounts>& all, std::vector<LevelCounts> others) {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t f = 0; f < LevelCounts::size; ++f)
        change(*all[i].fields()[f], *others[i].fields()[f]);
  };
  levels(counts.levels, other.levels);
  levels(counts.tlb, other.tlb);
  LevelCounts memory = other.memory;
  for (std::size_t f = 0; f < LevelCounts::size; ++f)
    change(*counts.memory.fields()[f], *memory.fields()[f]);
  for (std::size_t i = 0; i < counts.prefetch.size(); ++i)
    for (std::size_t k = 0; k < prefetch_kinds; ++k)
      for (const auto field : {&PrefetchCounts::requests, &PrefetchCounts::fetches, &PrefetchCounts::useful,
                               &PrefetchCounts::useless})
        change(counts.prefetch[i][k].*field, other.prefetch[i][k].*field);
  change(counts.loads, other.loads);
  change(counts.stores, other.stores);
}

} // namespace

void add_scaled(Counts& sum, const Counts& later, const Counts& earlier, double factor) {
  Counts delta = later;
  for_each(delta, earlier, [&](std::int64_t& to, std::int64_t from) {
    to = std::llround(static_cast<double>(to - from) * factor);
  });
  for_each(sum, delta, [](std::int64_t& to, std::int64_t from) { to += from; });
}

} // namespace recount::model
