#include "model/wide_sets.hpp"

#include "model/wide_lookup.hpp"

#include <algorithm>

namespace recount::model {

WideSets::WideSets(const SetIndex& index, std::size_t ways)
    : shape_{ways, ways > lanes ? index.sets() * lanes : 0, 0,
             (1u << (ways > lanes ? ways - lanes : ways)) - 1},
      index_(index),
      entries_(index.sets() * lanes * (ways > lanes ? 2 : 1), empty) {
  shape_.oldest = shape_.place(ways - 1);
}

bool WideSets::supported() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                          __builtin_cpu_supports("bmi2") != 0;
  return has;
#else
  return false;
#endif
}

RECOUNT_AVX512 bool WideSets::use(std::uint64_t line, bool dirty) {
  return wide::use(*this, line, dirty);
}

RECOUNT_AVX512 WideSets::Entry WideSets::insert(std::uint64_t line, bool dirty) {
  return wide::insert(*this, line, dirty);
}

std::size_t WideSets::find(std::uint64_t line) const {
  std::size_t way = 0;
  while (way < shape_.ways && at(*this, index_(line), way) >> 1 != line)
    ++way;
  return way;
}

WideSets::Entry WideSets::remove(std::uint64_t line) {
  std::size_t way = find(line);
  if (way == shape_.ways) return empty;
  const std::uint64_t set = index_(line);
  const Entry entry = at(*this, set, way);
  for (; way + 1 < shape_.ways; ++way)
    at(*this, set, way) = at(*this, set, way + 1);
  at(*this, set, way) = empty;
  return entry;
}

bool WideSets::holds(std::uint64_t line) const {
  return find(line) < shape_.ways;
}

bool WideSets::clean(std::uint64_t line) {
  const std::size_t way = find(line);
  if (way == shape_.ways) return false;
  Entry& entry = at(*this, index_(line), way);
  const bool dirty = (entry & 1) != 0;
  entry &= ~Entry{1};
  return dirty;
}

void WideSets::read(std::uint64_t set, std::span<Entry> out) const {
  const Entry* const from = entries_.data() + set * lanes;
  const std::size_t first = std::min(out.size(), lanes);
  std::copy_n(from, first, out.begin());
  std::copy_n(from + shape_.second, out.size() - first, out.begin() + static_cast<std::ptrdiff_t>(first));
}

void WideSets::clear() {
  std::ranges::fill(entries_, empty);
}

} // namespace recount::model
