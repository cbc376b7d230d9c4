#include "model/wide_sets.hpp"

#include "model/wide_lookup.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

WideSets::WideSets(const SetIndex& index, std::size_t ways)
    : ways_(ways),
      stride_(ways > lanes ? 2 * lanes : lanes),
      shape_{ways, ways > lanes, (1u << (ways + lanes - stride_)) - 1},
      index_(index),
      entries_(index.sets() * stride_, empty) {}

#if defined(__x86_64__)

bool WideSets::supported() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                          __builtin_cpu_supports("bmi2") != 0;
  return has;
}

RECOUNT_BY_EIGHT bool WideSets::use(std::uint64_t line, bool dirty, bool first) {
  if (first) return wide::use(*this, line, dirty);
  Entry* const set = set_of(line);
  std::uint32_t found = wide::same(_mm512_load_si512(set), line);
  if (shape_.two) found |= std::uint32_t{wide::same(_mm512_load_si512(set + lanes), line)} << lanes;
  if (found != 0) set[std::countr_zero(found)] |= Entry{dirty};
  return found != 0;
}

RECOUNT_BY_EIGHT WideSets::Entry WideSets::insert(std::uint64_t line, bool dirty) {
  return wide::insert(*this, line, dirty);
}

#else

bool WideSets::supported() {
  return false;
}

bool WideSets::use(std::uint64_t line, bool dirty, bool first) {
  Entry* const set = set_of(line);
  Entry* const there = std::find_if(set, set + ways_, [&](Entry entry) { return entry >> 1 == line; });
  if (there == set + ways_) return false;
  *there |= Entry{dirty};
  if (first) std::rotate(set, there, there + 1);
  return true;
}

WideSets::Entry WideSets::insert(std::uint64_t line, bool dirty) {
  Entry* const set = set_of(line);
  const Entry leaves = set[ways_ - 1];
  std::copy_backward(set, set + ways_ - 1, set + ways_);
  set[0] = line << 1 | Entry{dirty};
  return leaves;
}

#endif

WideSets::Entry WideSets::remove(std::uint64_t line) {
  Entry* const set = set_of(line);
  Entry* const there = std::find_if(set, set + ways_, [&](Entry entry) { return entry >> 1 == line; });
  if (there == set + ways_) return empty;
  const Entry entry = *there;
  std::copy(there + 1, set + ways_, there);
  set[ways_ - 1] = empty;
  return entry;
}

bool WideSets::holds(std::uint64_t line) const {
  const Entry* const set = set_of(line);
  return std::any_of(set, set + ways_, [&](Entry entry) { return entry >> 1 == line; });
}

void WideSets::read(std::uint64_t set, std::span<Entry> out) const {
  std::copy_n(entries_.begin() + static_cast<std::ptrdiff_t>(set * stride_), out.size(), out.begin());
}

bool WideSets::same(std::uint64_t set, std::span<const Entry> entries) const {
  return std::ranges::equal(entries, std::span(entries_).subspan(set * stride_, entries.size()));
}

void WideSets::write(std::uint64_t set, std::span<const Entry> in) {
  std::ranges::copy(in, entries_.begin() + static_cast<std::ptrdiff_t>(set * stride_));
}

void WideSets::clear() {
  std::ranges::fill(entries_, empty);
}

} // namespace recount::model
