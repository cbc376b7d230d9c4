// What a level counts, by the cause of each request.
#pragma once

#include "model/machine.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace recount::model {

/// The cause of a request to a level. A miss requests from the next level for the same cause, so at every
/// level "store" means "caused by a store of the program".
enum class Cause : unsigned {
  load,       ///< a load of the program
  store,      ///< a store of the program (at lower levels: the line it needs, or the store passed on)
  walk,       ///< a page-table entry read after a miss in the last TLB
  prefetch,   ///< by a declared prefetcher
  write_back, ///< a dirty line leaving the level above
  victim,     ///< a clean line leaving the level above an exclusive one
  refill,     ///< the rest of a longer line, read because only a part was written back
  fetch       ///< instructions of the program
};
inline constexpr std::size_t causes = 8;
[[nodiscard]] constexpr std::size_t number(Cause cause) {
  return static_cast<std::size_t>(cause);
}

/// Per-cause and per-level counts. All are numbers of lines, not of bytes.
struct LevelCounts {
  std::array<std::int64_t, causes> accesses{}, misses{};
  std::int64_t evictions = 0;     ///< lines that left because another needed the place
  std::int64_t write_backs = 0;   ///< of those, dirty: sent to the level below
  std::int64_t invalidations = 0; ///< lines that left because an inclusive level below evicted them
  std::int64_t prefetches = 0;    ///< lines this level's own prefetcher looked for
  /// Of a private level: lines that left because another core stored to their block, misses of loads and
  /// stores to such lines, and dirty lines that were written to the shared levels because another core
  /// accessed their block.
  std::int64_t coherence_invalidations = 0, coherence_misses = 0, coherence_write_backs = 0;

  [[nodiscard]] std::int64_t accessed(Cause c) const { return accesses[static_cast<unsigned>(c)]; }
  [[nodiscard]] std::int64_t missed(Cause c) const { return misses[static_cast<unsigned>(c)]; }
  [[nodiscard]] std::int64_t hit(Cause c) const { return accessed(c) - missed(c); }

  /// this += times * (later - earlier), field by field: how a recurring stretch is counted at once.
  void add(const LevelCounts& later, const LevelCounts& earlier, std::int64_t times) {
    for (std::size_t c = 0; c < causes; ++c) {
      accesses[c] += times * (later.accesses[c] - earlier.accesses[c]);
      misses[c] += times * (later.misses[c] - earlier.misses[c]);
    }
    for (const auto field : others)
      this->*field += times * (later.*field - earlier.*field);
  }
  bool operator==(const LevelCounts&) const = default;

  static constexpr std::array others{&LevelCounts::evictions,
                                     &LevelCounts::write_backs,
                                     &LevelCounts::invalidations,
                                     &LevelCounts::prefetches,
                                     &LevelCounts::coherence_misses,
                                     &LevelCounts::coherence_invalidations,
                                     &LevelCounts::coherence_write_backs};
  static constexpr std::size_t size = 2 * causes + others.size();
  /// Every field: accesses, misses, others.
  [[nodiscard]] std::array<std::int64_t*, size> fields() {
    std::array<std::int64_t*, size> all{};
    for (std::size_t c = 0; c < causes; ++c) {
      all[c] = &accesses[c];
      all[causes + c] = &misses[c];
    }
    for (std::size_t i = 0; i < others.size(); ++i)
      all[2 * causes + i] = &(this->*others[i]);
    return all;
  }
};

/// What a prefetcher of a level did.
struct PrefetchCounts {
  std::int64_t requests = 0; ///< lines requested
  std::int64_t fetches = 0;  ///< of those, fetched: the others were present
  std::int64_t useful = 0;   ///< of the fetches, used before they were evicted
  std::int64_t useless = 0;  ///< of the fetches, evicted unused; the rest is still present, unused
  bool operator==(const PrefetchCounts&) const = default;
};
inline constexpr std::array prefetch_fields{&PrefetchCounts::requests, &PrefetchCounts::fetches,
                                            &PrefetchCounts::useful, &PrefetchCounts::useless};
/// By kind.
struct LevelPrefetchCounts : std::array<PrefetchCounts, prefetch_kinds> {
  void add(const LevelPrefetchCounts& later, const LevelPrefetchCounts& earlier, std::int64_t times) {
    for (std::size_t i = 0; i < size(); ++i)
      for (const auto field : prefetch_fields)
        (*this)[i].*field += times * (later[i].*field - earlier[i].*field);
  }
};
[[nodiscard]] constexpr std::size_t number(Prefetch kind) {
  return static_cast<std::size_t>(kind);
}

/// Everything a hierarchy counts.
struct Counts {
  std::vector<LevelCounts> levels;           ///< data caches, from the core outwards
  std::vector<LevelPrefetchCounts> prefetch; ///< of the data caches
  std::vector<LevelCounts> tlb;              ///< TLB levels: accesses and misses by load and store only
  std::vector<std::int64_t> distances;       ///< of a family, see Distances::counts()
  LevelCounts memory;                        ///< requests that left the last level (accesses only)
  std::int64_t loads = 0, stores = 0;        ///< of the program; one that crosses a line is still one
  LevelCounts instructions;                  ///< first-level instruction cache, under Cause::fetch
  std::vector<LevelCounts> instruction_tlb;  ///< shared levels: what instructions caused there
  bool fetched = false;                      ///< instruction fetches were simulated
  bool operator==(const Counts&) const = default;
};

// Sampled simulation of loop nests, with its error.

/// A simulation of parts of a loop nest. Each sample is simulated from empty caches, warmed up, and
/// extrapolated to the whole nest by the number of accesses.
struct Sampling {
  static constexpr std::size_t samples = 6;
  /// Student's t for a two-sided 95 % interval and `samples` - 1 degrees of freedom.
  static constexpr double t = 2.571;

  std::int64_t accesses = 0, counted = 0; ///< loads and stores of the nest, and those in samples
  std::vector<Counts> estimates = {};     ///< of the whole nest, by each sample
  /// Of each TLB level and then of each cache level: the number of places, whose contents before the nest are
  /// not simulated, plus the misses that filled an empty place, extrapolated. Such a line might have been
  /// there after a longer warm-up. Where a set of an LRU level is full, its contents do not depend on what
  /// came before.
  std::vector<double> unsettled = {};
  /// Share of the loop turns that have fewer iterations than the others, as the last blocks of a matrix have.
  /// No sample need hold one; each is taken to miss as often as a full turn at most.
  double uneven = 0;
};

/// Adds what was counted between two moments, times a factor.
void add_scaled(Counts& sum, const Counts& later, const Counts& earlier, double factor);

} // namespace recount::model
