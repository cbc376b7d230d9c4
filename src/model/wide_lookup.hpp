// How WideSets are looked up: apart, as the header of the instructions takes long to compile.
#pragma once

#include "model/wide_sets.hpp"

/// Before what is compiled for vectors of eight entries: call it only where WideSets::supported().
#if defined(__x86_64__)
#include <immintrin.h>
#define RECOUNT_BY_EIGHT __attribute__((target("avx512f,avx512dq,bmi2")))
#else
#include <utility>
#define RECOUNT_BY_EIGHT
#endif

namespace recount::model::wide {

using Entry = WideSets::Entry;
inline constexpr std::size_t lanes = WideSets::lanes;

#if defined(__x86_64__)

/// Row p of these indices brings place p to the front.
struct alignas(64) Orders {
  std::uint64_t rows[lanes][lanes];
};
constexpr Orders orders() {
  Orders all{};
  for (std::uint64_t p = 0; p < lanes; ++p)
    for (std::uint64_t i = 0; i < lanes; ++i)
      all.rows[p][i] = i == 0 ? p : i <= p ? i - 1 : i;
  return all;
}
inline constexpr Orders to_front = orders();

/// All of a vector: masked forms, as g++ 12 takes the others for uninitialised.
inline constexpr __mmask8 all = 0xff;

/// A bit for each of the eight entries that is of the line; `key`: its dirty entry.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline __mmask8 same(__m512i entries, Entry key) {
  return _mm512_cmpeq_epi64_mask(_mm512_maskz_or_epi64(all, entries, _mm512_set1_epi64(1)),
                                 _mm512_set1_epi64(static_cast<long long>(key)));
}

/// WideSets::use() among the first eight places of a set.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline bool use_first(Entry* set, Entry key, bool dirty) {
  const __m512i entries = _mm512_load_si512(set);
  const __mmask8 found = same(entries, key);
  if (_kortestz_mask8_u8(found, found)) return false;
  const __m512i order = _mm512_load_si512(to_front.rows[__builtin_ctz(found)]);
  __m512i ordered = _mm512_maskz_permutexvar_epi64(all, order, entries);
  ordered = _mm512_mask_or_epi64(ordered, static_cast<__mmask8>(dirty), ordered, _mm512_set1_epi64(1));
  _mm512_store_si512(set, ordered);
  return true;
}

/// The same among sixteen, not found in the first eight.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline bool use_second(Entry* set, Entry* second, Entry key,
                                                               bool dirty) {
  const __m512i newer = _mm512_load_si512(set), older = _mm512_load_si512(second);
  const std::uint32_t found = same(older, key);
  if (found == 0) return false;
  // From the second vector before all: the last of the first vector becomes the first there.
  const auto place = static_cast<std::size_t>(__builtin_ctz(found));
  const __m512i used = _mm512_set1_epi64(static_cast<long long>(second[place] | Entry{dirty})),
                last = _mm512_set1_epi64(static_cast<long long>(set[lanes - 1])),
                order = _mm512_load_si512(to_front.rows[place]);
  _mm512_store_si512(set, _mm512_maskz_alignr_epi64(all, newer, used, lanes - 1));
  _mm512_store_si512(second,
                     _mm512_mask_mov_epi64(_mm512_maskz_permutexvar_epi64(all, order, older), 1, last));
  return true;
}

/// WideSets::use() of the line whose dirty entry is `key`; `set`: its set.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline bool use_key(Entry* set, const WideSets::Shape& sets,
                                                            Entry key, bool dirty) {
  return use_first(set, key, dirty) || (sets.second != 0 && use_second(set, set + sets.second, key, dirty));
}

/// Where take() found a line, and the evicted entry if it did not.
struct Taken {
  bool found;
  Entry evicted;
};

/// use() and, where the line is not there, insert(), of lines that are never dirty: the last way comes to the
/// front in its place.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline Taken take(Entry* set, const WideSets::Shape& sets,
                                                          std::uint64_t line) {
  const Entry clean = line << 1;
  const __m512i newer = _mm512_load_si512(set), used = _mm512_set1_epi64(static_cast<long long>(clean));
  std::uint32_t found = same(newer, clean | 1);
  const Entry evicted = set[sets.oldest];
  const unsigned end = sets.last();
  if (found == 0 && sets.second != 0) {
    Entry* const second = set + sets.second;
    const __m512i older = _mm512_load_si512(second);
    found = same(older, clean | 1);
    const std::uint64_t* const row = to_front.rows[__builtin_ctz(found | end)];
    const __m512i shifted = _mm512_maskz_permutexvar_epi64(all, _mm512_load_si512(row), older),
                  last = _mm512_set1_epi64(static_cast<long long>(set[lanes - 1]));
    _mm512_store_si512(second, _mm512_mask_mov_epi64(shifted, 1, last));
    _mm512_store_si512(set, _mm512_maskz_alignr_epi64(all, newer, used, lanes - 1));
    return {found != 0, evicted};
  }
  const std::uint64_t* const row = to_front.rows[__builtin_ctz(sets.second != 0 ? found : found | end)];
  const __m512i shifted = _mm512_maskz_permutexvar_epi64(all, _mm512_load_si512(row), newer);
  _mm512_store_si512(set, _mm512_mask_mov_epi64(shifted, 1, used));
  return {found != 0, evicted};
}

/// WideSets::insert() of an entry.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline Entry insert(Entry* set, const WideSets::Shape& sets,
                                                            Entry entry) {
  const Entry evicted = set[sets.oldest];
  __m512i before = _mm512_set1_epi64(static_cast<long long>(entry));
  if (sets.second != 0) {
    const __m512i newer = _mm512_load_si512(set);
    _mm512_store_si512(set, _mm512_maskz_alignr_epi64(all, newer, before, lanes - 1));
    before = newer;
    set += sets.second;
  }
  const __m512i entries = _mm512_load_si512(set),
                moved = _mm512_maskz_alignr_epi64(all, entries, before, lanes - 1);
  _mm512_store_si512(set, _mm512_mask_mov_epi64(entries, static_cast<__mmask8>(sets.kept), moved));
  return evicted;
}

#else

/// Puts an entry before the ways up to one, whose own entry it returns.
inline Entry push(Entry* set, const WideSets::Shape& sets, std::size_t last, Entry entry) {
  for (std::size_t way = 0; way <= last; ++way)
    std::swap(set[sets.place(way)], entry);
  return entry;
}
/// The way of a line, the number of ways when it is not there.
inline std::size_t way_of(const Entry* set, const WideSets::Shape& sets, std::uint64_t line) {
  std::size_t way = 0;
  while (way < sets.ways && set[sets.place(way)] >> 1 != line)
    ++way;
  return way;
}
inline bool use_key(Entry* set, const WideSets::Shape& sets, Entry key, bool dirty) {
  const std::size_t way = way_of(set, sets, key >> 1);
  if (way == sets.ways) return false;
  push(set, sets, way, set[sets.place(way)] | Entry{dirty});
  return true;
}
struct Taken {
  bool found;
  Entry evicted;
};
inline Entry insert(Entry* set, const WideSets::Shape& sets, Entry entry) {
  return push(set, sets, sets.ways - 1, entry);
}
inline Taken take(Entry* set, const WideSets::Shape& sets, std::uint64_t line) {
  if (use_key(set, sets, line << 1 | 1, false)) return {true, WideSets::empty};
  return {false, insert(set, sets, line << 1)};
}

#endif

[[gnu::always_inline]] RECOUNT_BY_EIGHT inline bool use(Entry* set, const WideSets::Shape& sets,
                                                        std::uint64_t line, bool dirty) {
  return use_key(set, sets, line << 1 | 1, dirty);
}
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline bool use(WideSets& sets, std::uint64_t line, bool dirty) {
  return use(sets.set_of(line), sets.shape(), line, dirty);
}
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline Entry insert(WideSets& sets, std::uint64_t line, bool dirty) {
  return insert(sets.set_of(line), sets.shape(), line << 1 | Entry{dirty});
}

} // namespace recount::model::wide
