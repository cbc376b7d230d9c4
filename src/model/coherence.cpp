// Several cores: each has private levels and TLBs, and the stores of one invalidate the copies of the others.
#include "model/hierarchy.hpp"

#include <algorithm>
#include <set>

namespace recount::model {

namespace {

/// Exchanges the contents, not the counts: those are of all cores.
void swap_contents(auto& one, auto& other) {
  std::swap(one, other);
  std::swap(one.counts, other.counts);
}

void save_lines(const std::vector<std::unordered_set<std::uint64_t>>& lost,
                std::vector<std::uint64_t>& words) {
  for (const auto& lines : lost) {
    words.push_back(lines.size());
    const std::set ordered(lines.begin(), lines.end());
    words.insert(words.end(), ordered.begin(), ordered.end());
  }
}

} // namespace

void Hierarchy::add_core() {
  Core core;
  for (std::size_t at = 0; at < private_; ++at) {
    core.levels.push_back(levels_[at]);
    core.prefetchers.push_back(prefetchers_[at]);
    core.levels.back().clear();
    core.prefetchers.back().clear();
    core.levels.back().counts = {};
    core.prefetchers.back().counts = {};
  }
  if (machine_.tlb) core.tlb.emplace(*machine_.tlb, machine_.seed + tlb_seed, tlb_->mixed());
  core.lost.resize(private_);
  cores_.push_back(std::move(core));
}

void Hierarchy::swap_with(Core& core) {
  for (std::size_t at = 0; at < private_; ++at) {
    swap_contents(levels_[at], core.levels[at]);
    swap_contents(prefetchers_[at], core.prefetchers[at]);
  }
  if (tlb_) tlb_->swap_contents(*core.tlb);
  lost_.swap(core.lost);
}

void Hierarchy::change_core(std::uint64_t core) {
  if (!coherent()) begin(true);
  while (cores_.size() <= std::max(core, core_))
    add_core();
  swap_with(cores_[core_]);
  swap_with(cores_[core]);
  core_ = core;
}

bool Hierarchy::has_part(const Core& core, std::uint64_t address, unsigned shift) const {
  for (const Level& level : core.levels)
    for (std::uint64_t part = 0; part >> (shift - level.shift()) == 0; ++part)
      if (level.holds((address >> level.shift()) + part)) return true;
  return false;
}

// Before a store: no other core keeps a copy.
void Hierarchy::invalidate_others(std::uint64_t address) {
  const std::uint64_t block = address >> block_shift_;
  Owner& owner = owners_[block % owners];
  if (owner.block == block && owner.core == core_) return;
  owner = {block, core_};
  at_others(block << block_shift_, block_shift_, [&] { publish(block, false); });
}

// Before a core requests a line from the shared levels: what another has stored is there.
void Hierarchy::clean_others(std::uint64_t address) {
  const std::uint64_t block = address >> block_shift_;
  Owner& owner = owners_[block % owners];
  if (owner.block == block) {
    if (owner.core == core_) return;
    owner = {};
  }
  at_others(block << block_shift_, block_shift_, [&] { publish(block, true); });
}

// The current core writes what it has stored in the block to the shared levels, and keeps it clean or loses
// it.
void Hierarchy::publish(std::uint64_t block, bool keep) {
  const std::uint64_t address = block << block_shift_;
  bool any_dirty = false;
  for (std::size_t at = 0; at < private_; ++at) {
    Level& level = levels_[at];
    for (std::uint64_t part = 0; part >> (block_shift_ - level.shift()) == 0; ++part) {
      const std::uint64_t line = (address >> level.shift()) + part;
      bool dirty = false;
      if (keep) {
        dirty = level.clean(line);
      } else if (const Level::Entry entry = level.remove(line); entry != Level::empty) {
        dirty = level.take_dirty(entry) != 0;
        ++level.counts.coherence_invalidations;
        prefetchers_[at].evicted(line);
        lost_[at].insert(line);
      }
      if (dirty) ++level.counts.coherence_write_backs;
      any_dirty = any_dirty || dirty;
    }
  }
  if (any_dirty) receive(private_, address, Cause::write_back, block_shift_);
}

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

} // namespace recount::model
