// What a hierarchy holds and has counted.
#include "model/hierarchy.hpp"

#include <algorithm>

namespace recount::model {

void Hierarchy::reset_counters() {
  for (Level& level : levels_)
    level.counts = {};
  if (tlb_)
    for (Level& level : tlb_->levels)
      level.counts = {};
  for (Prefetchers& prefetchers : prefetchers_)
    prefetchers.counts = {};
  if (distances_) distances_->reset_counters();
  memory_ = {};
  accesses_[0] = accesses_[1] = crossings_[0] = crossings_[1] = 0;
}

void Hierarchy::clear() {
  for (Level& level : levels_)
    level.clear();
  if (tlb_)
    for (auto* const levels : {&tlb_->levels, &tlb_->walk})
      for (Level& level : *levels)
        level.clear();
  for (Prefetchers& prefetchers : prefetchers_)
    prefetchers.clear();
  if (distances_) distances_->clear();
  newest_pages_.fill(no_page);
  newest_.fill(Level::empty);
}

std::vector<std::int64_t> Hierarchy::vacancies() const {
  std::vector<std::int64_t> all;
  if (tlb_)
    for (const Level& level : tlb_->levels)
      all.push_back(level.vacant());
  for (const Level& level : levels_)
    all.push_back(level.vacant());
  return all;
}

Counts Hierarchy::counts() const {
  Counts all;
  for (const Level& level : levels_)
    all.levels.push_back(level.counts);
  for (const Prefetchers& prefetchers : prefetchers_)
    all.prefetch.push_back(prefetchers.counts);
  if (tlb_)
    for (const Level& level : tlb_->levels)
      all.tlb.push_back(level.counts);
  for (const Cause cause : {Cause::load, Cause::store})
    all.levels.front().accesses[number(cause)] += accesses_[number(cause)];
  if (distances_) all.distances = distances_->counts();
  all.memory = memory_;
  const LevelCounts& first = all.levels.front();
  if (tlb_) // each is looked up once
    for (const Cause cause : {Cause::load, Cause::store})
      all.tlb.front().accesses[number(cause)] = first.accessed(cause);
  all.loads = first.accessed(Cause::load) - crossings_[number(Cause::load)];
  all.stores = first.accessed(Cause::store) - crossings_[number(Cause::store)];
  return all;
}

Hierarchy::State Hierarchy::state() const {
  State words;
  save(words);
  return words;
}

void Hierarchy::save(State& words) const {
  for (const Level& level : levels_)
    level.save(words);
  if (tlb_)
    for (auto* const levels : {&tlb_->levels, &tlb_->walk})
      for (const Level& level : *levels)
        level.save(words);
  for (const Prefetchers& prefetchers : prefetchers_)
    prefetchers.save(words);
  if (distances_) distances_->save(words);
}

void Hierarchy::restore(const State& state) {
  std::span<const std::uint64_t> words = state;
  for (Level& level : levels_)
    level.restore(words);
  if (tlb_)
    for (auto* const levels : {&tlb_->levels, &tlb_->walk})
      for (Level& level : *levels)
        level.restore(words);
  for (Prefetchers& prefetchers : prefetchers_)
    prefetchers.restore(words);
  if (distances_) distances_->restore(words);
  newest_pages_.fill(no_page);
  newest_.fill(Level::empty);
}

bool Hierarchy::is(const State& state) const {
  std::span<const std::uint64_t> words = state;
  for (const Level& level : levels_)
    if (!level.same(words)) return false;
  if (tlb_)
    for (auto* const levels : {&tlb_->levels, &tlb_->walk})
      for (const Level& level : *levels)
        if (!level.same(words)) return false;
  for (const Prefetchers& prefetchers : prefetchers_)
    if (!prefetchers.same(words)) return false;
  if (distances_ && !distances_->same(words)) return false;
  return words.empty();
}

void Hierarchy::add(const Counts& later, const Counts& earlier, std::int64_t times) {
  for (std::size_t at = 0; at < levels_.size(); ++at)
    levels_[at].counts.add(later.levels[at], earlier.levels[at], times);
  for (std::size_t at = 0; at < levels_.size(); ++at)
    prefetchers_[at].counts.add(later.prefetch[at], earlier.prefetch[at], times);
  if (tlb_)
    for (std::size_t at = 0; at < tlb_->levels.size(); ++at)
      tlb_->levels[at].counts.add(later.tlb[at], earlier.tlb[at], times);
  if (distances_) distances_->add(later.distances, earlier.distances, times);
  memory_.add(later.memory, earlier.memory, times);
  const LevelCounts &l = later.levels.front(), &e = earlier.levels.front();
  const std::int64_t crossed[2] = {
      l.accessed(Cause::load) - e.accessed(Cause::load) - (later.loads - earlier.loads),
      l.accessed(Cause::store) - e.accessed(Cause::store) - (later.stores - earlier.stores)};
  for (std::size_t i = 0; i < 2; ++i)
    crossings_[i] += times * crossed[i];
}

} // namespace recount::model
