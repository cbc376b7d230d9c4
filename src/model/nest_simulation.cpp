#include "model/nest_simulation.hpp"

#include "base/random.hpp"
#include "model/wide_path.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

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

struct Walker { ///< an access of an innermost loop
  std::int64_t address = 0, step = 0;
  unsigned bytes = 1;
  bool store = false;
};

/// Iterations of a few accesses, which stay in registers.
template <std::size_t size, bool with_tlb>
RECOUNT_AVX512 void wide_iterations(Hierarchy& caches, const std::vector<Walker>& all, std::int64_t trips) {
  const Hierarchy::WidePath<with_tlb> path(caches);
  typename Hierarchy::WidePath<with_tlb>::Tally tally;
  std::array<Walker, size> walkers;
  std::ranges::copy(all, walkers.begin());
  const std::int64_t stores = std::ranges::count(walkers, true, &Walker::store);
  caches.count(trips * (std::int64_t{size} - stores), trips * stores);
  for (; trips > 0; --trips)
#pragma GCC unroll 4
    for (Walker& walker : walkers) {
      path.put(static_cast<std::uint64_t>(walker.address), walker.store ? 2 : 3, tally);
      walker.address += walker.step;
    }
  path.count(tally);
}

/// Replays a prepared loop nest. Innermost iterations that can only hit are counted without simulating them;
/// so are iterations of other loops that repeat a state because their accesses stay on the same lines.
class NestReplay {
public:
  explicit NestReplay(Hierarchy& caches)
      : caches_(caches),
        line_(caches.machine().levels.front().line),
        shortest_(std::min(line_, caches.machine().tlb ? caches.machine().tlb->page : line_)),
        family_(!caches.machine().family.empty()),
        skips_(!family_ && caches.machine().levels.front().prefetch.empty()),
        stores_stay_(caches.machine().levels.front().write == Write::back),
        kept_(lines_kept(caches)) {
    for (std::size_t levels = 1; levels <= caches.levels(); ++levels)
      words_.push_back(std::ssize(caches.state(levels)));
  }

  Environment variables{}; ///< of the loops around what is replayed

  void nodes(const std::vector<NestNode>& nodes) {
    for (const NestNode& one : nodes)
      node(one);
  }
  void node(const NestNode& node) {
    if (const auto* const inner = std::get_if<NestLoop>(&node)) return loop(*inner);
    const auto& access = std::get<NestAccess>(node);
    const auto address = static_cast<std::uint64_t>(access.address.at(variables));
    access.cause == Cause::store ? caches_.store(address, access.bytes) : caches_.load(address, access.bytes);
  }
  void loop(const NestLoop& loop) {
    if (loop.innermost)
      innermost(loop, loop.trips(variables));
    else
      iterations(loop, [](std::int64_t, std::int64_t) { return false; });
  }
  /// The iterations of a loop that is not innermost. after(iterations done, all) ends them if it returns
  /// true; whether it did.
  template <class After>
  bool iterations(const NestLoop& loop, After&& after) {
    const std::int64_t trips = loop.trips(variables), first = loop.first.at(variables);
    for (std::int64_t trip = 0; trip < trips;) {
      variables[loop.variable] = first + trip * loop.step;
      const std::int64_t run = std::min(trips - trip, iterations_on_lines(loop));
      nodes(loop.body);
      if (const std::size_t levels = run > 3 ? compared_levels(loop) : 0; levels > 0) {
        repeat(
            caches_, run - 1, [&] { nodes(loop.body); }, nullptr, levels);
        trip += run;
      } else {
        ++trip;
      }
      if (after(trip, trips)) return true;
    }
    return false;
  }
  /// Number of cache levels, from the first one on, whose states take less time to compare than an iteration
  /// of the loop.
  [[nodiscard]] std::size_t compared_levels(const NestLoop& loop) const {
    const std::int64_t words_per_access = caches_.has_wide_path() ? 4 : 16; // compared in the time of one
    Environment inside = variables;
    const std::int64_t most = words_per_access * accesses(loop.body, inside);
    return static_cast<std::size_t>(std::ranges::upper_bound(words_, most) - words_.begin());
  }

private:
  /// For how many iterations of a loop, this one included, its body accesses the lines that it accesses now.
  [[nodiscard]] std::int64_t iterations_on_lines(const NestLoop& loop) const {
    return family_ ? 1 : on_lines(loop.body, loop, variables, {});
  }
  /// `at`: the first iteration of the loops within; `steps`: theirs, by variable.
  [[nodiscard]] std::int64_t on_lines(const std::vector<NestNode>& body, const NestLoop& loop,
                                      const Environment& at, const Environment& steps) const {
    const auto depends = [&](const Affine& form) { return form.slope[loop.variable] != 0; };
    std::int64_t run = always;
    for (const NestNode& node : body) {
      if (const auto* const inner = std::get_if<NestLoop>(&node)) {
        if (depends(inner->first) || depends(inner->last.one) || depends(inner->last.other)) return 1;
        Environment inside = at, steps_inside = steps;
        inside[inner->variable] = inner->first.at(at);
        steps_inside[inner->variable] = inner->step;
        run = std::min(run, on_lines(inner->body, loop, inside, steps_inside));
        continue;
      }
      const auto& [cause, array, bytes, address] = std::get<NestAccess>(node);
      if (!depends(address)) continue;
      for (std::size_t v = 0; v < nest_depth; ++v)
        if (steps[v] != 0 && address.slope[v] * steps[v] % shortest_ != 0) return 1; // elsewhere in its line
      run = std::min(run, iterations_in_line(address.at(at), address.slope[loop.variable] * loop.step, bytes,
                                             shortest_));
    }
    return run;
  }

  void innermost(const NestLoop& loop, std::int64_t trips) {
    if (trips == 0) return;
    variables[loop.variable] = loop.first.at(variables);
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

  void every_iteration(std::int64_t trips) {
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

  void iteration() {
    for (Walker& walker : walkers_) {
      const auto address = static_cast<std::uint64_t>(walker.address);
      walker.store ? caches_.store(address, walker.bytes) : caches_.load(address, walker.bytes);
      walker.address += walker.step;
    }
  }

  Hierarchy& caches_;
  std::int64_t line_, shortest_; ///< bytes of a line of the first level; of that or a page
  bool family_;
  bool skips_;       ///< hits change nothing but the order of use: a streamer follows them as well
  bool stores_stay_; ///< in the first level
  std::size_t kept_; ///< lines and pages used last that are certainly in the first cache and TLB level
  std::vector<std::int64_t> words_; ///< of the state of the first cache level, the first two, ... all
  std::vector<Walker> walkers_;     ///< accesses of the innermost loop
};

/// Calls change(number of `counts`, the same of `other`) for each.
template <class Change>
void for_each(Counts& counts, const Counts& other, Change&& change) {
  const auto levels = [&](std::vector<LevelCounts>& all, std::vector<LevelCounts> others) {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t f = 0; f < LevelCounts::size; ++f)
        change(*all[i].fields()[f], *others[i].fields()[f]);
  };
  levels(counts.levels, other.levels);
  levels(counts.tlb, other.tlb);
  levels(counts.instruction_tlb, other.instruction_tlb);
  LevelCounts memory = other.memory, instructions = other.instructions;
  for (std::size_t f = 0; f < LevelCounts::size; ++f) {
    change(*counts.memory.fields()[f], *memory.fields()[f]);
    change(*counts.instructions.fields()[f], *instructions.fields()[f]);
  }
  for (std::size_t i = 0; i < counts.prefetch.size(); ++i)
    for (std::size_t k = 0; k < prefetch_kinds; ++k)
      for (const auto field : prefetch_fields)
        change(counts.prefetch[i][k].*field, other.prefetch[i][k].*field);
  change(counts.loads, other.loads);
  change(counts.stores, other.stores);
}

/// One outermost loop. The unit of its samples is an iteration, or one of the only loop in its body.
class SampledLoop {
public:
  SampledLoop(const NestLoop& outermost, Hierarchy& caches) : replay_(caches) {
    Environment variables{};
    accesses_ = accesses(outermost, variables);
    for (const NestLoop* loop = &outermost;;) {
      chain_.push_back(loop);
      variables[loop->variable] = loop->first.at(variables);
      Environment inside = variables;
      unit_ = loop->innermost ? accesses_ : accesses(loop->body, inside);
      if (const std::int64_t trips = loop->trips(variables); !loop->innermost && trips > 1) {
        inside = variables;
        inside[loop->variable] += (trips - 1) * loop->step;
        if (accesses(loop->body, inside) != unit_) even_ *= 1 - 1 / static_cast<double>(trips);
      }
      const auto* const inner = loop->body.size() == 1 ? std::get_if<NestLoop>(&loop->body.front()) : nullptr;
      if (unit_ <= caches.machine().sample_unit || inner == nullptr || inner->innermost) break;
      loop = inner;
    }
    window_ = std::max(unit_, SampledReplay::min_window);
  }

  [[nodiscard]] std::int64_t size() const { return accesses_; }
  [[nodiscard]] double uneven() const { return 1 - even_; }
  [[nodiscard]] bool whole() const {
    return chain_.back()->innermost || accesses_ <= window_ * SampledReplay::max_windows;
  }
  /// Replays everything. report(share) after each iteration of the outermost loop.
  template <class Report>
  void replay_all(const Report& report) {
    replay_.variables = {};
    if (chain_.front()->innermost) return replay_.loop(*chain_.front());
    replay_.iterations(*chain_.front(), [&](std::int64_t trip, std::int64_t trips) {
      report(static_cast<double>(trip) / static_cast<double>(trips));
      return false;
    });
  }
  /// Begins at the unit that holds access number `at`.
  void seek(std::int64_t at) {
    Environment& variables = replay_.variables;
    for (const NestLoop* loop : chain_) {
      const std::int64_t trips = loop->trips(variables), first = loop->first.at(variables);
      for (std::int64_t trip = 0; trip < trips; ++trip) {
        variables[loop->variable] = first + trip * loop->step;
        Environment inside = variables;
        const std::int64_t own = accesses(loop->body, inside);
        if (at < own) break;
        at -= own;
      }
    }
  }
  /// Replays a window; returns its accesses.
  std::int64_t replay_window() {
    std::int64_t done = 0;
    for (bool more = true; more && done < window_; more = advance()) {
      Environment inside = replay_.variables;
      done += accesses(chain_.back()->body, inside);
      replay_.nodes(chain_.back()->body);
    }
    return done;
  }
  /// A position in part `sample` of the samples from which warm-up and window fit in the loop.
  [[nodiscard]] std::int64_t start(std::size_t sample, std::uint64_t& random) const {
    const std::int64_t span = accesses_ - window_ * (SampledReplay::max_warm_up + 1);
    const std::int64_t part = span / static_cast<std::int64_t>(Sampling::samples);
    return part * static_cast<std::int64_t>(sample) +
           static_cast<std::int64_t>(base::random_below(random, static_cast<std::uint64_t>(part) + 1));
  }

private:
  /// To the next unit. False: there is none.
  bool advance() {
    Environment& variables = replay_.variables;
    for (std::size_t at = chain_.size(); at-- > 0;) {
      const NestLoop& loop = *chain_[at];
      variables[loop.variable] += loop.step;
      if (variables[loop.variable] >= loop.last.at(variables)) continue;
      bool empty = false;
      for (++at; at < chain_.size(); ++at) {
        variables[chain_[at]->variable] = chain_[at]->first.at(variables);
        empty = empty || chain_[at]->trips(variables) == 0;
      }
      return !empty || advance();
    }
    return false;
  }

  NestReplay replay_;
  std::vector<const NestLoop*> chain_; ///< each is the only node in the body of the previous one
  std::int64_t accesses_ = 0, unit_ = 0, window_ = 0;
  double even_ = 1; ///< share of the iterations of all loops of the chain that are as long as the first
};

bool full(const Hierarchy& caches) {
  return std::ranges::all_of(caches.vacancies(), [](std::int64_t places) { return places == 0; });
}

/// Adds the estimates of a loop to those of the nest. report(share) after each window.
template <class Report>
void sample(SampledLoop& loop, Hierarchy& caches, Sampling& sampling, const Report& report) {
  std::uint64_t random = caches.machine().seed;
  sampling.uneven = std::max(sampling.uneven, loop.uneven());
  for (std::size_t s = 0; s < Sampling::samples; ++s) {
    const auto report_windows = [&](std::int64_t windows) {
      constexpr double most = SampledReplay::max_warm_up + 1;
      report((static_cast<double>(s) + static_cast<double>(windows) / most) / double{Sampling::samples});
    };
    caches.clear();
    loop.seek(loop.start(s, random));
    loop.replay_window();
    // A window that fills no empty place has touched what the next ones touch.
    auto empty = caches.vacancies();
    for (std::int64_t i = 1; i < SampledReplay::max_warm_up && !full(caches); ++i) {
      report_windows(i);
      loop.replay_window();
      auto still = caches.vacancies();
      if (still == empty) break;
      empty = std::move(still);
    }
    const Counts before = caches.counts();
    const auto vacant = caches.vacancies();
    const std::int64_t counted = loop.replay_window();
    const double factor = static_cast<double>(loop.size()) / static_cast<double>(counted);
    add_scaled(sampling.estimates[s], caches.counts(), before, factor);
    sampling.counted += counted;
    const auto left = caches.vacancies();
    for (std::size_t i = 0; i < left.size(); ++i)
      sampling.unsettled[i] += factor / double{Sampling::samples} *
                               static_cast<double>(std::max<std::int64_t>(0, vacant[i] - left[i]));
    report_windows(SampledReplay::max_warm_up + 1);
  }
}

} // namespace

void add_scaled(Counts& sum, const Counts& later, const Counts& earlier, double factor) {
  Counts delta = later;
  for_each(delta, earlier, [&](std::int64_t& to, std::int64_t from) {
    to = std::llround(static_cast<double>(to - from) * factor);
  });
  for_each(sum, delta, [](std::int64_t& to, std::int64_t from) { to += from; });
  sum.fetched = sum.fetched || later.fetched;
}

void SampledReplay::run(Hierarchy& caches) const {
  const Counts start = caches.counts();
  caches.reset_counters();
  const Counts none = caches.counts();
  caches.clear();
  // The state before the first access changes one hit or miss per place at most.
  const auto places = caches.vacancies();
  Sampling sampling{
      accesses_, 0, std::vector<Counts>(Sampling::samples, none), {places.begin(), places.end()}};
  std::int64_t done = 0;
  const auto count_for_all = [&](std::int64_t made, const auto& replay) {
    const Counts before = caches.counts();
    replay();
    done += made;
    sampling.counted += made;
    for (Counts& estimate : sampling.estimates)
      add_scaled(estimate, caches.counts(), before, 1);
  };
  for (const NestNode& node : nest_.nodes) {
    const auto* const outermost = std::get_if<NestLoop>(&node);
    if (outermost == nullptr) {
      count_for_all(1, [&] { NestReplay(caches).node(node); });
      continue;
    }
    SampledLoop loop(*outermost, caches);
    const auto report = [&](double share) {
      caches.progress.report((static_cast<double>(done) + share * static_cast<double>(loop.size())) /
                             static_cast<double>(accesses_));
    };
    if (loop.whole()) {
      count_for_all(loop.size(), [&] { loop.replay_all(report); });
      continue;
    }
    sample(loop, caches, sampling, report);
    done += loop.size();
  }
  Counts all = none, sum = start;
  for (const Counts& estimate : sampling.estimates)
    add_scaled(all, estimate, none, 1);
  add_scaled(sum, all, none, 1 / double{Sampling::samples});
  caches.reset_counters();
  caches.add(sum, none, 1);
  caches.sampling = std::move(sampling);
}

NestSimulation::NestSimulation(const Nest& nest, const MachineDescription& machine)
    : nest_(prepare(nest)),
      accesses_(accesses(nest_)),
      sampled_(machine.sampled && SampledReplay::pays(accesses_)) {}

void NestSimulation::run(Hierarchy& caches) {
  sampled_ ? SampledReplay(nest_, accesses_).run(caches) : run_completely(caches);
}

void NestSimulation::run_completely(Hierarchy& caches) {
  NestReplay replay(caches);
  double done = 0;
  for (std::size_t n = 0; n < nest_.nodes.size(); ++n) {
    const auto* const loop = std::get_if<NestLoop>(&nest_.nodes[n]);
    if (loop == nullptr || loop->innermost) {
      replay.node(nest_.nodes[n]);
      continue;
    }
    Environment none{};
    const auto own = static_cast<double>(accesses(*loop, none));
    const bool known = replay.iterations(*loop, [&](std::int64_t trip, std::int64_t trips) {
      const double share = static_cast<double>(trip) / static_cast<double>(trips);
      caches.progress.report((done + own * share) / static_cast<double>(accesses_));
      return std::has_single_bit(static_cast<std::uint64_t>(trip)) &&
             replay.compared_levels(*loop) == caches.levels() && continues_as_first(n, trip, caches);
    });
    if (known) return;
    done += own;
  }
  if (!end_) end_ = caches;
}

/// Whether the first run was in the same state after so many iterations. Then `caches` becomes what it was at
/// its end.
bool NestSimulation::continues_as_first(std::size_t node, std::int64_t trips, Hierarchy& caches) {
  Hierarchy::State state = caches.state();
  if (!end_) {
    checkpoints_.push_back({node, trips, std::move(state), caches.counts()});
    return false;
  }
  const auto checkpoint = std::ranges::find_if(
      checkpoints_, [&](const Checkpoint& one) { return one.node == node && one.trips == trips; });
  if (checkpoint == checkpoints_.end() || checkpoint->state != state) return false;
  const Counts counts = caches.counts();
  const Progress progress = caches.progress;
  caches = *end_;
  caches.progress = progress;
  caches.add(counts, checkpoint->counts, 1);
  return true;
}

void simulate_nest(const Nest& nest, Hierarchy& caches) {
  NestSimulation(nest, caches.machine()).run(caches);
}

void simulate_nest_warm(const Nest& nest, Hierarchy& caches) {
  NestSimulation simulation(nest, caches.machine());
  if (!simulation.sampled()) {
    caches.progress.part(0, 0.5);
    simulation.run(caches);
    caches.reset_counters();
  }
  caches.progress.part(simulation.sampled() ? 0 : 0.5, 1);
  simulation.run(caches);
}

} // namespace recount::model
