// Look-ups of WideSets. A header of its own, as <immintrin.h> is slow to compile.
#pragma once

#include "model/wide_sets.hpp"

/// Compiles a function for AVX-512: call it only where WideSets::supported().
#if defined(__x86_64__)
#include <immintrin.h>
#define RECOUNT_AVX512 __attribute__((target("avx512f,avx512dq,bmi2")))
#else
#define RECOUNT_AVX512
#endif

namespace recount::model::wide {

using Entry = WideSets::Entry;
inline constexpr std::size_t lanes = WideSets::lanes;

/// Whether use_or_insert() found the line, and the evicted entry if it did not.
struct UseResult {
  bool found;
  Entry evicted;
};

#if defined(__x86_64__)

/// Row p: the permutation of a vector that moves entry p to the front.
struct alignas(64) MoveToFront {
  std::uint64_t rows[lanes][lanes];
};
constexpr MoveToFront make_permutations() {
  MoveToFront all{};
  for (std::uint64_t p = 0; p < lanes; ++p)
    for (std::uint64_t i = 0; i < lanes; ++i)
      all.rows[p][i] = i == 0 ? p : i <= p ? i - 1 : i;
  return all;
}
inline constexpr MoveToFront move_to_front = make_permutations();

/// Full mask. Masked forms avoid a false -Wmaybe-uninitialized of g++ 12.
inline constexpr __mmask8 all = 0xff;

/// A bit for each of the eight entries that holds the line; `key`: the dirty entry of the line.
[[gnu::always_inline]] RECOUNT_AVX512 inline __mmask8 matches(__m512i entries, Entry key) {
  return _mm512_cmpeq_epi64_mask(_mm512_maskz_or_epi64(all, entries, _mm512_set1_epi64(1)),
                                 _mm512_set1_epi64(static_cast<long long>(key)));
}

/// WideSets::use() among the first eight places of a set.
[[gnu::always_inline]] RECOUNT_AVX512 inline bool use_in_first_vector(Entry* set, Entry key, bool dirty) {
  const __m512i entries = _mm512_load_si512(set);
  const __mmask8 found = matches(entries, key);
  if (_kortestz_mask8_u8(found, found)) return false;
  const __m512i order = _mm512_load_si512(move_to_front.rows[__builtin_ctz(found)]);
  __m512i ordered = _mm512_maskz_permutexvar_epi64(all, order, entries);
  ordered = _mm512_mask_or_epi64(ordered, static_cast<__mmask8>(dirty), ordered, _mm512_set1_epi64(1));
  _mm512_store_si512(set, ordered);
  return true;
}

/// WideSets::use() of a line that the first vector does not hold.
[[gnu::always_inline]] RECOUNT_AVX512 inline bool use_in_second_vector(Entry* set, Entry* second, Entry key,
                                                                       bool dirty) {
  const __m512i newer = _mm512_load_si512(set), older = _mm512_load_si512(second);
  const std::uint32_t found = matches(older, key);
  if (found == 0) return false;
  // The line moves to the front of the first vector, whose last entry becomes the first of the second.
  const auto place = static_cast<std::size_t>(__builtin_ctz(found));
  const __m512i used = _mm512_set1_epi64(static_cast<long long>(second[place] | Entry{dirty})),
                last = _mm512_set1_epi64(static_cast<long long>(set[lanes - 1])),
                order = _mm512_load_si512(move_to_front.rows[place]);
  _mm512_store_si512(set, _mm512_maskz_alignr_epi64(all, newer, used, lanes - 1));
  _mm512_store_si512(second,
                     _mm512_mask_mov_epi64(_mm512_maskz_permutexvar_epi64(all, order, older), 1, last));
  return true;
}

/// WideSets::use() of the line whose dirty entry is `key`.
[[gnu::always_inline]] RECOUNT_AVX512 inline bool use_key(Entry* set, const WideSets::Shape& sets, Entry key,
                                                          bool dirty) {
  return use_in_first_vector(set, key, dirty) ||
         (sets.second != 0 && use_in_second_vector(set, set + sets.second, key, dirty));
}

/// use() and, after a miss, insert(), of lines that are never dirty: a miss evicts the last way.
[[gnu::always_inline]] RECOUNT_AVX512 inline UseResult use_or_insert(Entry* set, const WideSets::Shape& sets,
                                                                     std::uint64_t line) {
  const Entry clean = line << 1;
  const __m512i newer = _mm512_load_si512(set), used = _mm512_set1_epi64(static_cast<long long>(clean));
  std::uint32_t found = matches(newer, clean | 1);
  const Entry evicted = set[sets.oldest];
  const unsigned end = sets.last();
  if (found == 0 && sets.second != 0) {
    Entry* const second = set + sets.second;
    const __m512i older = _mm512_load_si512(second);
    found = matches(older, clean | 1);
    const std::uint64_t* const row = move_to_front.rows[__builtin_ctz(found | end)];
    const __m512i shifted = _mm512_maskz_permutexvar_epi64(all, _mm512_load_si512(row), older),
                  last = _mm512_set1_epi64(static_cast<long long>(set[lanes - 1]));
    _mm512_store_si512(second, _mm512_mask_mov_epi64(shifted, 1, last));
    _mm512_store_si512(set, _mm512_maskz_alignr_epi64(all, newer, used, lanes - 1));
    return {found != 0, evicted};
  }
  const std::uint64_t* const row = move_to_front.rows[__builtin_ctz(sets.second != 0 ? found : found | end)];
  const __m512i shifted = _mm512_maskz_permutexvar_epi64(all, _mm512_load_si512(row), newer);
  _mm512_store_si512(set, _mm512_mask_mov_epi64(shifted, 1, used));
  return {found != 0, evicted};
}

/// WideSets::insert() of an entry.
[[gnu::always_inline]] RECOUNT_AVX512 inline Entry insert(Entry* set, const WideSets::Shape& sets,
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

#else // never called, as WideSets::supported() is false

inline bool use_key(Entry*, const WideSets::Shape&, Entry, bool) {
  __builtin_unreachable();
}
inline UseResult use_or_insert(Entry*, const WideSets::Shape&, std::uint64_t) {
  __builtin_unreachable();
}
inline Entry insert(Entry*, const WideSets::Shape&, Entry) {
  __builtin_unreachable();
}

#endif

[[gnu::always_inline]] RECOUNT_AVX512 inline bool use(Entry* set, const WideSets::Shape& sets,
                                                      std::uint64_t line, bool dirty) {
  return use_key(set, sets, line << 1 | 1, dirty);
}
[[gnu::always_inline]] RECOUNT_AVX512 inline bool use(WideSets& sets, std::uint64_t line, bool dirty) {
  return use(sets.set_of(line), sets.shape(), line, dirty);
}
[[gnu::always_inline]] RECOUNT_AVX512 inline Entry insert(WideSets& sets, std::uint64_t line, bool dirty) {
  return insert(sets.set_of(line), sets.shape(), line << 1 | Entry{dirty});
}

} // namespace recount::model::wide
