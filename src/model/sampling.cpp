#include "model/sampling.hpp"

#include "base/random.hpp"
#include "model/inner_loop_replay.hpp"

#include <algorithm>
#include <cmath>

namespace recount::model {
namespace {

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
  LevelCounts memory = other.memory;
  for (std::size_t f = 0; f < LevelCounts::size; ++f)
    change(*counts.memory.fields()[f], *memory.fields()[f]);
  for (std::size_t i = 0; i < counts.prefetch.size(); ++i)
    for (std::size_t k = 0; k < prefetch_kinds; ++k)
      for (const auto field : {&PrefetchCounts::requests, &PrefetchCounts::fetches, &PrefetchCounts::useful,
                               &PrefetchCounts::useless})
        change(counts.prefetch[i][k].*field, other.prefetch[i][k].*field);
  change(counts.loads, other.loads);
  change(counts.stores, other.stores);
}

/// One outermost loop, whose turns, or those of the only loop in its body, are the units of samples.
class SampledLoop {
public:
  SampledLoop(const Step& step, Hierarchy& caches) : caches_(caches), leaf_(caches) {
    Environment none{};
    accesses_ = accesses({step}, none);
    for (const Step* loop = &step;; loop = &loop->body.front()) {
      chain_.push_back(loop);
      none[loop->variable] = loop->first.at(none);
      Environment inside = none;
      unit_ = loop->leaf ? accesses_ : accesses(loop->body, inside);
      if (const std::int64_t turns = loop->turns(none); !loop->leaf && turns > 1) {
        inside = none;
        inside[loop->variable] += (turns - 1) * loop->step;
        if (accesses(loop->body, inside) != unit_) even_ *= 1 - 1 / static_cast<double>(turns);
      }
      if (unit_ <= SampledReplay::most_turn || loop->body.size() != 1 || loop->body.front().leaf) break;
    }
    window_ = std::max(unit_, SampledReplay::least_window);
  }

  [[nodiscard]] std::int64_t size() const { return accesses_; }
  [[nodiscard]] double uneven() const { return 1 - even_; }
  [[nodiscard]] bool whole() const {
    return chain_.back()->leaf || accesses_ <= window_ * SampledReplay::most_windows;
  }
  /// Replays everything. report(share) after each turn of the outermost loop.
  template <class Report>
  void all(const Report& report) {
    variables_ = {};
    const Step& outer = *chain_.front();
    if (outer.leaf) return sequence({outer});
    const std::int64_t turns = outer.turns(variables_), first = outer.first.at(variables_);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      variables_[outer.variable] = first + turn * outer.step;
      sequence(outer.body);
      report(static_cast<double>(turn + 1) / static_cast<double>(turns));
    }
  }
  /// Begins at the unit that holds access number `at`.
  void seek(std::int64_t at) {
    for (const Step* loop : chain_) {
      const std::int64_t turns = loop->turns(variables_), first = loop->first.at(variables_);
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        variables_[loop->variable] = first + turn * loop->step;
        Environment inside = variables_;
        const std::int64_t own = accesses(loop->body, inside);
        if (at < own) break;
        at -= own;
      }
    }
  }
  /// Replays a window; returns its accesses.
  std::int64_t window() {
    std::int64_t done = 0;
    for (bool more = true; more && done < window_; more = advance()) {
      Environment inside = variables_;
      done += accesses(chain_.back()->body, inside);
      sequence(chain_.back()->body);
    }
    return done;
  }
  /// A position in part `sample` of the samples from which warm-up and window fit in the loop.
  [[nodiscard]] std::int64_t start(std::size_t sample, std::uint64_t& random) const {
    const std::int64_t span = accesses_ - window_ * (SampledReplay::most_warm_up + 1);
    const std::int64_t part = span / static_cast<std::int64_t>(Sampling::samples);
    return part * static_cast<std::int64_t>(sample) +
           static_cast<std::int64_t>(base::random_below(random, static_cast<std::uint64_t>(part) + 1));
  }

private:
  /// To the next unit. False: there is none.
  bool advance() {
    for (std::size_t at = chain_.size(); at-- > 0;) {
      const Step& loop = *chain_[at];
      variables_[loop.variable] += loop.step;
      if (variables_[loop.variable] >= loop.last.at(variables_)) continue;
      bool empty = false;
      for (++at; at < chain_.size(); ++at) {
        variables_[chain_[at]->variable] = chain_[at]->first.at(variables_);
        empty = empty || chain_[at]->turns(variables_) == 0;
      }
      return !empty || advance();
    }
    return false;
  }
  void sequence(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const std::int64_t turns = step.turns(variables_), first = step.bare ? 0 : step.first.at(variables_);
      if (step.leaf) {
        if (!step.bare) variables_[step.variable] = first;
        if (turns > 0) leaf_.run(step, turns, variables_);
        continue;
      }
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        variables_[step.variable] = first + turn * step.step;
        sequence(step.body);
      }
    }
  }

  Hierarchy& caches_;
  InnerLoopReplay leaf_;
  std::vector<const Step*> chain_; ///< each but the first is the only step in the body of the one before
  std::int64_t accesses_ = 0, unit_ = 0, window_ = 0;
  double even_ = 1; ///< share of the turns of all loops of the chain that are as long as the first
  Environment variables_{};
};

bool full(const Hierarchy& caches) {
  return std::ranges::all_of(caches.vacancies(), [](std::int64_t places) { return places == 0; });
}

/// Adds the estimates of a loop to those of the program. report(share) after each window.
template <class Report>
void sample(SampledLoop& loop, Hierarchy& caches, Sampling& sampling, const Report& report) {
  std::uint64_t random = caches.machine().seed;
  sampling.uneven = std::max(sampling.uneven, loop.uneven());
  for (std::size_t s = 0; s < Sampling::samples; ++s) {
    const auto windows_done = [&](std::int64_t windows) {
      constexpr double most = SampledReplay::most_warm_up + 1;
      report((static_cast<double>(s) + static_cast<double>(windows) / most) / double{Sampling::samples});
    };
    caches.clear();
    loop.seek(loop.start(s, random));
    loop.window();
    for (std::int64_t i = 1; i < SampledReplay::most_warm_up && !full(caches); ++i) {
      windows_done(i);
      loop.window();
    }
    const Counts before = caches.counts();
    const auto places = caches.vacancies();
    const std::int64_t counted = loop.window();
    const double factor = static_cast<double>(loop.size()) / static_cast<double>(counted);
    add_scaled(sampling.estimates[s], caches.counts(), before, factor);
    sampling.counted += counted;
    const auto left = caches.vacancies();
    for (std::size_t i = 0; i < left.size(); ++i)
      sampling.unsettled[i] += factor / double{Sampling::samples} *
                               static_cast<double>(std::max<std::int64_t>(0, places[i] - left[i]));
    windows_done(SampledReplay::most_warm_up + 1);
  }
}

} // namespace

void add_scaled(Counts& sum, const Counts& later, const Counts& earlier, double factor) {
  Counts delta = later;
  for_each(delta, earlier, [&](std::int64_t& to, std::int64_t from) {
    to = std::llround(static_cast<double>(to - from) * factor);
  });
  for_each(sum, delta, [](std::int64_t& to, std::int64_t from) { to += from; });
}

SampledReplay::SampledReplay(const Program& program) : program_(program), accesses_(accesses(program)) {}

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
  for (const Step& step : program_.steps) {
    SampledLoop loop(step, caches);
    const auto report = [&](double share) {
      caches.progress.tell((static_cast<double>(done) + share * static_cast<double>(loop.size())) /
                           static_cast<double>(accesses_));
    };
    if (!loop.whole()) {
      sample(loop, caches, sampling, report);
      done += loop.size();
      continue;
    }
    const Counts before = caches.counts();
    loop.all(report);
    sampling.counted += loop.size();
    done += loop.size();
    for (Counts& estimate : sampling.estimates)
      add_scaled(estimate, caches.counts(), before, 1);
  }
  Counts all = none, sum = start;
  for (const Counts& estimate : sampling.estimates)
    add_scaled(all, estimate, none, 1);
  add_scaled(sum, all, none, 1 / double{Sampling::samples});
  caches.reset_counters();
  caches.add(sum, none, 1);
  caches.sampling = std::move(sampling);
}

} // namespace recount::model
