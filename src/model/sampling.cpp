#include "model/sampling.hpp"

#include "base/random.hpp"
#include "model/nest_replay.hpp"

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
      if (unit_ <= SampledReplay::most_iteration || inner == nullptr || inner->innermost) break;
      loop = inner;
    }
    window_ = std::max(unit_, SampledReplay::least_window);
  }

  [[nodiscard]] std::int64_t size() const { return accesses_; }
  [[nodiscard]] double uneven() const { return 1 - even_; }
  [[nodiscard]] bool whole() const {
    return chain_.back()->innermost || accesses_ <= window_ * SampledReplay::most_windows;
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
    const std::int64_t span = accesses_ - window_ * (SampledReplay::most_warm_up + 1);
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
      constexpr double most = SampledReplay::most_warm_up + 1;
      report((static_cast<double>(s) + static_cast<double>(windows) / most) / double{Sampling::samples});
    };
    caches.clear();
    loop.seek(loop.start(s, random));
    loop.replay_window();
    for (std::int64_t i = 1; i < SampledReplay::most_warm_up && !full(caches); ++i) {
      report_windows(i);
      loop.replay_window();
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
    report_windows(SampledReplay::most_warm_up + 1);
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

} // namespace recount::model
