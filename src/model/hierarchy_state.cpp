// What a hierarchy holds and has counted.
#include "model/hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>

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
  for (Instructions& one : instructions_)
    one.reset_counters();
  memory_ = {};
  accesses_[0] = accesses_[1] = crossings_[0] = crossings_[1] = 0;
}

void Hierarchy::clear() {
  for (Level& level : levels_)
    level.clear();
  if (tlb_) tlb_->clear();
  for (Prefetchers& prefetchers : prefetchers_)
    prefetchers.clear();
  if (distances_) distances_->clear();
  for (Instructions& one : instructions_)
    one.clear();
  for (Core& core : cores_) {
    for (Level& level : core.levels)
      level.clear();
    for (Prefetchers& prefetchers : core.prefetchers)
      prefetchers.clear();
    if (core.tlb) core.tlb->clear();
    core.newest_pages.fill(no_page);
    core.lost.assign(private_, {});
  }
  for (auto& lines : lost_)
    lines.clear();
  std::ranges::fill(owners_, Owner{});
  newest_pages_.fill(no_page);
  newest_.fill(Level::empty);
}

std::vector<std::int64_t> Hierarchy::vacancies() const {
  std::vector<std::int64_t> all;
  const auto add = [&](const std::optional<Tlb>& tlb, const std::vector<Level>& levels) {
    all.resize(std::max(all.size(), (tlb ? tlb->levels.size() : 0) + levels.size()));
    std::size_t i = 0;
    for (std::size_t level = 0; tlb && level < tlb->levels.size(); ++level)
      all[i++] += tlb->vacant(level);
    for (const Level& level : levels)
      all[i++] += level.vacant();
  };
  add(tlb_, levels_);
  for (std::size_t i = 0; i < cores_.size(); ++i)
    if (i != core_) add(cores_[i].tlb, cores_[i].levels);
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
  count_instructions(all);
  all.memory = memory_;
  const LevelCounts& first = all.levels.front();
  if (tlb_) // each is looked up once
    for (const Cause cause : {Cause::load, Cause::store})
      all.tlb.front().accesses[number(cause)] = first.accessed(cause);
  all.loads = first.accessed(Cause::load) - crossings_[number(Cause::load)];
  all.stores = first.accessed(Cause::store) - crossings_[number(Cause::store)];
  return all;
}

Hierarchy::State Hierarchy::state(std::size_t caches) const {
  State words;
  save(words, caches);
  return words;
}

std::int64_t Hierarchy::reached(std::size_t at) const {
  const auto& accesses = levels_[at].counts.accesses;
  return std::accumulate(accesses.begin(), accesses.end(), std::int64_t{0});
}

void Hierarchy::save(State& words, std::size_t caches) const {
  for (const Level& level : levels_ | std::views::take(caches))
    level.save(words);
  if (tlb_) tlb_->save(words);
  for (const Prefetchers& prefetchers : prefetchers_ | std::views::take(caches))
    prefetchers.save(words);
  if (distances_) distances_->save(words);
  if (coherent()) save_cores(words);
  for (const Instructions& one : instructions_)
    one.save(words);
}

namespace {

void save_lines(const std::vector<std::unordered_set<std::uint64_t>>& lost,
                std::vector<std::uint64_t>& words) {
  for (const auto& lines : lost) {
    words.push_back(lines.size());
    const std::set ordered(lines.begin(), lines.end());
    words.insert(words.end(), ordered.begin(), ordered.end());
  }
}

void restore_lines(std::vector<std::unordered_set<std::uint64_t>>& lost,
                   std::span<const std::uint64_t>& words) {
  for (auto& lines : lost) {
    const auto count = words[0];
    lines = {words.begin() + 1, words.begin() + 1 + static_cast<std::ptrdiff_t>(count)};
    words = words.subspan(1 + count);
  }
}

} // namespace

void Hierarchy::save_cores(State& words) const {
  words.insert(words.end(), {core_, cores_.size()});
  save_lines(lost_, words);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    if (i == core_) continue;
    const Core& core = cores_[i];
    for (const Level& level : core.levels)
      level.save(words);
    if (core.tlb) core.tlb->save(words);
    for (const Prefetchers& prefetchers : core.prefetchers)
      prefetchers.save(words);
    save_lines(core.lost, words);
  }
}

// The current core is restored, except for its number and the lines that it has lost.
void Hierarchy::restore_cores(std::span<const std::uint64_t> words) {
  cores_.clear();
  begin(!words.empty());
  core_ = words.empty() ? 0 : words[0];
  if (words.empty()) return;
  const std::uint64_t count = words[1];
  while (cores_.size() < count)
    add_core();
  words = words.subspan(2);
  restore_lines(lost_, words);
  for (std::size_t i = 0; i < count; ++i) {
    if (i == core_) continue;
    Core& core = cores_[i];
    for (Level& level : core.levels)
      level.restore(words);
    if (core.tlb) core.tlb->restore(words);
    for (Prefetchers& prefetchers : core.prefetchers)
      prefetchers.restore(words);
    restore_lines(core.lost, words);
  }
}

void Hierarchy::restore(const State& state) {
  std::span<const std::uint64_t> words = state;
  for (Level& level : levels_)
    level.restore(words);
  if (tlb_) tlb_->restore(words);
  for (Prefetchers& prefetchers : prefetchers_)
    prefetchers.restore(words);
  if (distances_) distances_->restore(words);
  restore_cores(words);
  newest_pages_.fill(no_page);
  newest_.fill(Level::empty);
}

bool Hierarchy::is(const State& state, std::size_t caches) const {
  std::span<const std::uint64_t> words = state;
  for (const Level& level : levels_ | std::views::take(caches))
    if (!level.same(words)) return false;
  if (tlb_ && !tlb_->same(words)) return false;
  for (const Prefetchers& prefetchers : prefetchers_ | std::views::take(caches))
    if (!prefetchers.same(words)) return false;
  if (distances_ && !distances_->same(words)) return false;
  State others;
  if (coherent()) save_cores(others);
  for (const Instructions& one : instructions_)
    one.save(others);
  return std::ranges::equal(words, others);
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
  add_instructions(later, earlier, times);
  memory_.add(later.memory, earlier.memory, times);
  const LevelCounts &l = later.levels.front(), &e = earlier.levels.front();
  const std::int64_t crossed[2] = {
      l.accessed(Cause::load) - e.accessed(Cause::load) - (later.loads - earlier.loads),
      l.accessed(Cause::store) - e.accessed(Cause::store) - (later.stores - earlier.stores)};
  for (std::size_t i = 0; i < 2; ++i)
    crossings_[i] += times * crossed[i];
}

} // namespace recount::model
