#include "model/nest_replay.hpp"

#include "model/wide_path.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace recount::model {
namespace {

constexpr std::int64_t always = std::int64_t{1} << 62;

/// Number of iterations for which an access remains in its line of `line` bytes; 1 when it crosses lines.
std::int64_t iterations_in_line(std::int64_t address, std::int64_t step, unsigned bytes, std::int64_t line) {
  const std::int64_t first = address & (line - 1), last = first + bytes - 1;
  if (last >= line) return 1;
  if (step > 0) return (line - 1 - last) / step + 1;
  return step < 0 ? first / -step + 1 : always;
}

/// The most recently used lines and pages, this many, are certainly in the first cache and TLB level, in
/// order of use, if no walk intervened.
std::size_t lines_kept(const Hierarchy& caches) {
  const MachineDescription& machine = caches.machine();
  const auto non_inclusive = [](const LevelDescription& level) {
    return level.inclusion == Inclusion::non_inclusive;
  };
  if (!caches.keeps_newest() || !std::ranges::all_of(machine.levels, non_inclusive)) return 0;
  if (machine.tlb && machine.tlb->levels.front().policy != Policy::lru) return 0;
  const std::int64_t ways = machine.levels.front().ways;
  return static_cast<std::size_t>(machine.tlb ? std::min(ways, machine.tlb->levels.front().ways) : ways);
}

/// Iterations of a few accesses, which stay in registers.
template <std::size_t size, bool with_tlb>
RECOUNT_BY_EIGHT void wide_iterations(Hierarchy& caches, const std::vector<NestReplay::Walker>& all,
                                      std::int64_t trips) {
  const Hierarchy::WidePath<with_tlb> path(caches);
  typename Hierarchy::WidePath<with_tlb>::Tally tally;
  std::array<NestReplay::Walker, size> walkers;
  std::ranges::copy(all, walkers.begin());
  const std::int64_t stores = std::ranges::count(walkers, true, &NestReplay::Walker::store);
  caches.count(trips * (std::int64_t{size} - stores), trips * stores);
  for (; trips > 0; --trips)
#pragma GCC unroll 4
    for (NestReplay::Walker& walker : walkers) {
      path.put(static_cast<std::uint64_t>(walker.address), walker.store ? 2 : 3, tally);
      walker.address += walker.step;
    }
  path.count(tally);
}

} // namespace

NestReplay::NestReplay(Hierarchy& caches)
    : caches_(caches),
      line_(caches.machine().levels.front().line),
      skips_(caches.machine().family.empty() && caches.machine().levels.front().prefetch.empty()),
      stores_stay_(caches.machine().levels.front().write == Write::back),
      kept_(lines_kept(caches)),
      state_(std::ssize(caches.state())) {}

void NestReplay::nodes(const std::vector<NestNode>& nodes) {
  for (const NestNode& one : nodes)
    node(one);
}

void NestReplay::node(const NestNode& node) {
  if (const auto* const inner = std::get_if<NestLoop>(&node)) return loop(*inner);
  const auto& access = std::get<NestAccess>(node);
  const auto address = static_cast<std::uint64_t>(access.address.at(variables));
  access.cause == Cause::store ? caches_.store(address, access.bytes) : caches_.load(address, access.bytes);
}

void NestReplay::loop(const NestLoop& loop) {
  const std::int64_t trips = loop.trips(variables);
  if (trips == 0) return;
  variables[loop.variable] = loop.first.at(variables);
  if (loop.innermost)
    innermost(loop, trips);
  else if (loop.repeats && trips > 2 && comparing_pays(loop))
    repeat(caches_, trips, [&] { nodes(loop.body); });
  else
    iterations(loop, [](std::int64_t, std::int64_t) { return false; });
}

bool NestReplay::comparing_pays(const NestLoop& loop) {
  constexpr std::int64_t words_per_access = 16; // compared in the time of one
  Environment inside = variables;
  return state_ <= words_per_access * accesses(loop.body, inside);
}

void NestReplay::innermost(const NestLoop& loop, std::int64_t trips) {
  walkers_.clear();
  std::int64_t stores = 0, shortest = line_; // iterations in a line
  for (const NestNode& node : loop.body) {
    const auto& access = std::get<NestAccess>(node);
    const std::int64_t step = access.address.slope[loop.variable] * loop.step;
    walkers_.push_back({access.address.at(variables), step, access.bytes, access.cause == Cause::store});
    stores += walkers_.back().store ? 1 : 0;
    shortest = std::min(shortest, line_ / std::max<std::int64_t>(1, std::abs(step)));
  }
  const std::int64_t loads = std::ssize(walkers_) - stores;
  if (!skips_ || shortest < 4 || (stores > 0 && !stores_stay_)) return every_iteration(trips);
  const bool all_kept = walkers_.size() <= kept_;
  while (trips > 0) {
    std::int64_t run = trips; // for which every access remains in its line
    for (const Walker& walker : walkers_)
      run = std::min(run, iterations_in_line(walker.address, walker.step, walker.bytes, line_));
    trips -= run;
    const std::int64_t walks = caches_.walks();
    iteration();
    --run;
    // The lines of an iteration are retained in the same order of use that the next one would leave.
    bool steady = all_kept && caches_.walks() == walks;
    if (!steady && run > 0) {
      const std::int64_t before = caches_.first_misses();
      iteration();
      --run;
      steady = caches_.first_misses() == before;
    }
    if (!steady) {
      trips += run;
      continue;
    }
    caches_.count(run * loads, run * stores);
    for (Walker& walker : walkers_)
      walker.address += walker.step * run;
  }
}

void NestReplay::every_iteration(std::int64_t trips) {
  const bool aligned = std::ranges::all_of(walkers_, [&](const Walker& w) {
    return std::has_single_bit(w.bytes) && w.bytes <= line_ && (w.address | w.step) % w.bytes == 0;
  });
  const auto wide = [&]<std::size_t size>() {
    caches_.machine().tlb ? wide_iterations<size, true>(caches_, walkers_, trips)
                          : wide_iterations<size, false>(caches_, walkers_, trips);
  };
  switch (aligned && caches_.has_wide_path() ? walkers_.size() : 0) {
  case 1: return wide.operator()<1>();
  case 2: return wide.operator()<2>();
  case 3: return wide.operator()<3>();
  case 4: return wide.operator()<4>();
  default:
    while (trips-- > 0)
      iteration();
  }
}

void NestReplay::iteration() {
  for (Walker& walker : walkers_) {
    const auto address = static_cast<std::uint64_t>(walker.address);
    walker.store ? caches_.store(address, walker.bytes) : caches_.load(address, walker.bytes);
    walker.address += walker.step;
  }
}

} // namespace recount::model
