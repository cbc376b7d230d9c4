#include "model/wide_sets.hpp"

#include "model/wide_lookup.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

WideSets::WideSets(const SetIndex& index, std::size_t ways)
    : ways_(ways),
      stride_(ways > lanes ? 2 * lanes : lanes),
      index_(index),
      kept_((1u << (ways + lanes - stride_)) - 1),
      entries_(index.sets() * stride_, empty) {}

#if defined(__x86_64__)

bool WideSets::supported() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}

namespace {

RECOUNT_BY_EIGHT bool use_in_sixteen(WideSets::Entry* set, std::uint64_t line, bool dirty, bool first) {
  if (first && wide::use(set, line, dirty)) return true;
  const __m512i newer = _mm512_load_si512(set), older = _mm512_load_si512(set + wide::lanes);
  const std::uint32_t found = wide::same(newer, line) | wide::same(older, line) << wide::lanes;
  if (found == 0) return false;
  const auto place = static_cast<std::size_t>(std::countr_zero(found));
  set[place] |= WideSets::Entry{dirty};
  if (!first) return true;
  // From the second vector before all: the last of the first vector becomes the first there.
  const __m512i used = _mm512_set1_epi64(static_cast<long long>(set[place])),
                last = _mm512_set1_epi64(static_cast<long long>(set[wide::lanes - 1])),
                order = _mm512_load_si512(wide::to_front.rows[place - wide::lanes]);
  _mm512_store_si512(set, _mm512_maskz_alignr_epi64(wide::all, newer, used, wide::lanes - 1));
  _mm512_store_si512(set + wide::lanes,
                     _mm512_mask_mov_epi64(_mm512_maskz_permutexvar_epi64(wide::all, order, older), 1, last));
  return true;
}

} // namespace

RECOUNT_BY_EIGHT bool WideSets::use(std::uint64_t line, bool dirty, bool first) {
  Entry* const set = set_of(line);
  if (stride_ > lanes) return use_in_sixteen(set, line, dirty, first);
  if (first) return wide::use(set, line, dirty);
  const std::uint32_t found = wide::same(_mm512_load_si512(set), line);
  if (found != 0) set[std::countr_zero(found)] |= Entry{dirty};
  return found != 0;
}

RECOUNT_BY_EIGHT WideSets::Entry WideSets::insert(std::uint64_t line, bool dirty) {
  Entry* set = set_of(line);
  const Entry leaves = set[ways_ - 1];
  __m512i before = _mm512_set1_epi64(static_cast<long long>(line << 1 | Entry{dirty}));
  if (stride_ > lanes) {
    const __m512i newer = _mm512_load_si512(set);
    _mm512_store_si512(set, _mm512_maskz_alignr_epi64(wide::all, newer, before, lanes - 1));
    before = newer;
    set += lanes;
  }
  const __m512i entries = _mm512_load_si512(set),
                moved = _mm512_maskz_alignr_epi64(wide::all, entries, before, lanes - 1);
  _mm512_store_si512(set, _mm512_mask_mov_epi64(entries, static_cast<__mmask8>(kept_), moved));
  return leaves;
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

void WideSets::write(std::uint64_t set, std::span<const Entry> in) {
  std::ranges::copy(in, entries_.begin() + static_cast<std::ptrdiff_t>(set * stride_));
}

void WideSets::clear() {
  std::ranges::fill(entries_, empty);
}

} // namespace recount::model
