// How WideSets are looked up: apart, as the header of the instructions takes long to compile.
#pragma once

#include "model/wide_sets.hpp"

/// Before what is compiled for vectors of eight entries: call it only where WideSets::supported().
#if defined(__x86_64__)
#include <immintrin.h>
#define RECOUNT_BY_EIGHT __attribute__((target("avx512f")))
#else
#include <algorithm>
#define RECOUNT_BY_EIGHT
#endif

namespace recount::model::wide {

using Entry = WideSets::Entry;
inline constexpr std::size_t lanes = 8; ///< entries of a vector

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

/// A bit for each of the eight entries that is of the line.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline std::uint32_t same(__m512i entries, std::uint64_t line) {
  return _mm512_cmpeq_epi64_mask(_mm512_maskz_srli_epi64(all, entries, 1),
                                 _mm512_set1_epi64(static_cast<long long>(line)));
}

/// WideSets::use() among the first eight places of a set, with `first`.
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline bool use(Entry* set, std::uint64_t line, bool dirty) {
  const __m512i entries = _mm512_load_si512(set);
  const std::uint32_t found = same(entries, line);
  if (found == 0) return false;
  const __m512i order = _mm512_load_si512(to_front.rows[__builtin_ctz(found)]);
  __m512i ordered = _mm512_maskz_permutexvar_epi64(all, order, entries);
  if (dirty) ordered = _mm512_mask_or_epi64(ordered, 1, ordered, _mm512_set1_epi64(1));
  _mm512_store_si512(set, ordered);
  return true;
}

#else

inline bool use(Entry* set, std::uint64_t line, bool dirty) {
  Entry* const there = std::find_if(set, set + lanes, [&](Entry entry) { return entry >> 1 == line; });
  if (there == set + lanes) return false;
  *there |= Entry{dirty};
  std::rotate(set, there, there + 1);
  return true;
}

#endif

} // namespace recount::model::wide
