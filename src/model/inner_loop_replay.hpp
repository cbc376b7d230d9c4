// Replays innermost loops access by access; iterations that only hit are counted without simulating them.
#pragma once

#include "model/hierarchy_wide.hpp"
#include "model/program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace recount::model {

/// Number of iterations for which an access remains in its line of `line` bytes; 1 when it crosses lines.
inline std::int64_t stays(std::int64_t address, std::int64_t step, unsigned bytes, std::int64_t line) {
  const std::int64_t first = address & (line - 1), last = first + bytes - 1;
  if (last >= line) return 1;
  if (step > 0) return (line - 1 - last) / step + 1;
  return step < 0 ? first / -step + 1 : std::int64_t{1} << 62;
}

/// Replays innermost loops. Not thread-safe.
class InnerLoopReplay {
public:
  explicit InnerLoopReplay(Hierarchy& caches)
      : caches_(caches),
        line_(caches.machine().levels.front().line),
        cuts_(caches.machine().family.empty() && caches.machine().levels.front().prefetch.empty()),
        stores_stay_(caches.machine().levels.front().write == Write::back),
        kept_(lines_kept(caches)) {}

  /// `turns` iterations of an innermost loop; `variables` has the outer loops and its own first iteration.
  void run(const Step& step, std::int64_t turns, const Environment& variables) {
    walkers_.clear();
    std::int64_t stores = 0, least = line_;
    for (const LeafAccess& access : step.accesses) {
      walkers_.push_back(
          {access.start.at(variables), access.own, access.bytes, access.cause == Cause::store});
      stores += walkers_.back().store ? 1 : 0;
      least = std::min(least, line_ / std::max<std::int64_t>(1, std::abs(access.own)));
    }
    const std::int64_t loads = static_cast<std::int64_t>(walkers_.size()) - stores;
    if (!cuts_ || least < 4 || (stores > 0 && !stores_stay_)) return all_turns(turns, loads, stores);
    const bool all_kept = walkers_.size() <= kept_;
    while (turns > 0) {
      std::int64_t run = std::min(turns, calm());
      turns -= run;
      const std::int64_t walks = caches_.walks();
      turn();
      // The lines of an iteration are retained in the same order of use that the next one would leave.
      bool still = all_kept && caches_.walks() == walks;
      --run;
      if (!still && run > 0) {
        const std::int64_t before = caches_.first_misses();
        turn();
        --run;
        still = caches_.first_misses() == before;
      }
      if (!still) {
        turns += run;
        continue;
      }
      caches_.count(run * loads, run * stores);
      for (Walker& walker : walkers_)
        walker.address += walker.step * run;
    }
  }

private:
  struct Walker {
    std::int64_t address = 0, step = 0;
    unsigned bytes = 1;
    bool store = false;
  };

  /// The most recently used lines and pages, this many, are certainly in the first cache and TLB level, in
  /// order of use, if no walk intervened.
  static std::size_t lines_kept(const Hierarchy& caches) {
    const MachineDescription& machine = caches.machine();
    if (!caches.keeps_newest() || !std::ranges::all_of(machine.levels, [](const LevelDescription& level) {
          return level.inclusion == Inclusion::non_inclusive;
        }))
      return 0;
    if (machine.tlb && machine.tlb->levels.front().policy != Policy::lru) return 0;
    const std::int64_t ways = machine.levels.front().ways;
    return static_cast<std::size_t>(machine.tlb ? std::min(ways, machine.tlb->levels.front().ways) : ways);
  }

  /// Number of iterations for which every access remains in its line; 1 when one crosses lines.
  [[nodiscard]] std::int64_t calm() const {
    std::int64_t calm = std::int64_t{1} << 62;
    for (const Walker& walker : walkers_)
      calm = std::min(calm, stays(walker.address, walker.step, walker.bytes, line_));
    return calm;
  }

  /// Access by access.
  void all_turns(std::int64_t turns, std::int64_t loads, std::int64_t stores) {
    const bool wide =
        caches_.wide_entrance() && std::ranges::all_of(walkers_, [&](const Walker& w) {
          return std::has_single_bit(w.bytes) && w.bytes <= line_ && (w.address | w.step) % w.bytes == 0;
        });
    switch (wide ? walkers_.size() : 0) {
    case 1: wide_turns<1>(turns); break;
    case 2: wide_turns<2>(turns); break;
    case 3: wide_turns<3>(turns); break;
    case 4: wide_turns<4>(turns); break;
    default:
      while (turns-- > 0)
        turn();
      return;
    }
    caches_.count(turns * loads, turns * stores);
  }

  /// A few access streams, held in registers.
  template <std::size_t size>
  [[nodiscard]] std::array<Walker, size> few() const {
    std::array<Walker, size> walkers;
    std::ranges::copy(walkers_, walkers.begin());
    return walkers;
  }
  template <std::size_t size>
  void wide_turns(std::int64_t turns) {
    caches_.machine().tlb ? wide_turns<size, true>(turns) : wide_turns<size, false>(turns);
  }
  template <std::size_t size, bool tlb>
  RECOUNT_BY_EIGHT void wide_turns(std::int64_t turns) {
    constexpr std::int64_t ahead = 12; // turns: longer than an access to memory
    const Hierarchy::WideEntrance<tlb> entrance(caches_);
    typename Hierarchy::WideEntrance<tlb>::Settled settled;
    for (auto walkers = few<size>(); turns > 0; --turns)
#pragma GCC unroll 4
      for (Walker& walker : walkers) {
        entrance.put(static_cast<std::uint64_t>(walker.address), walker.store ? 2 : 3, settled,
                     ahead * walker.step);
        walker.address += walker.step;
      }
    entrance.count(settled);
  }

  void turn() {
    for (Walker& walker : walkers_) {
      const auto address = static_cast<std::uint64_t>(walker.address);
      if (walker.store)
        caches_.store(address, walker.bytes);
      else
        caches_.load(address, walker.bytes);
      walker.address += walker.step;
    }
  }

  Hierarchy& caches_;
  std::int64_t line_; ///< of the first level
  bool cuts_;         ///< hits change nothing but the order of use: a streamer follows them as well
  bool stores_stay_;  ///< in the first level
  std::size_t kept_;
  std::vector<Walker> walkers_;
};

} // namespace recount::model
