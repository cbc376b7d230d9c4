#include "model/trace/memory_map.hpp"

#include "model/trace/protocol.h"

#include <algorithm>

namespace recount::trace {
namespace {

using Interval = boost::icl::discrete_interval<std::uint64_t>;
constexpr std::size_t max_regions = 4'000'000, max_sites = 1'000'000, max_stacks = 65536;

Interval interval(std::uint64_t start, std::uint64_t end) {
  return Interval::right_open(start, end);
}

} // namespace

void MemoryMap::set(Regions& regions, const Region& region) {
  if (region.end <= region.start) return;
  regions.erase(interval(region.start, region.end));
  if (regions.iterative_size() < max_regions) regions.insert({interval(region.start, region.end), region});
}

void MemoryMap::map(std::uint64_t start, std::uint64_t end, std::uint32_t file) {
  ++changes_;
  set(mapped_, {Region::Kind::file, file, start, end});
}

bool MemoryMap::heap(std::span<const std::uint64_t> words) {
  if (words.size() == 1) {
    const auto at = blocks_.find(words[0]);
    if (at == blocks_.end()) return true; // made before the heap was watched
    const Region block = at->second;
    if (block.start == words[0]) blocks_.erase(interval(block.start, block.end));
    return true;
  }
  if (words.size() != 3) return false;
  const Region block{Region::Kind::block, static_cast<std::uint32_t>(words[2]), words[0],
                     words[0] + std::min(words[1], ~std::uint64_t{0} - words[0])};
  set(blocks_, block);
  last_added_ = block;
  return true;
}

bool MemoryMap::take(std::uint64_t kind, std::span<const std::uint64_t> words) {
  last_added_.reset();
  gone_ = {};
  ++changes_;
  if (kind == RT_HEAP) return heap(words);
  if (words.empty()) return false;
  if (kind == RT_SITE) {
    if (sites_.size() < max_sites)
      sites_[static_cast<std::uint32_t>(words[0])] = {words.begin() + 1, words.end()};
    return true;
  }
  if (kind == RT_UNMAPPED) {
    if (words.size() != 2) return false;
    gone_ = {words[0], std::max(words[0], words[1])};
    mapped_.erase(interval(gone_.first, gone_.second));
    return true;
  }
  if (words.size() != 3) return false;
  if (kind == RT_STACK) {
    const auto thread = static_cast<std::uint32_t>(words[0]);
    if (stacks_.size() < max_stacks) stacks_[thread] = {Region::Kind::stack, thread, words[1], words[2]};
    return true;
  }
  if (kind == RT_ANONYMOUS)
    set(mapped_, {Region::Kind::anonymous, static_cast<std::uint32_t>(words[2]), words[0], words[1]});
  return kind == RT_ANONYMOUS;
}

std::optional<MemoryMap::Region> MemoryMap::find(std::uint64_t address) const {
  if (const auto block = blocks_.find(address); block != blocks_.end()) return block->second;
  for (const auto& [thread, stack] : stacks_)
    if (address >= stack.start && address < stack.end) return stack;
  if (const auto file = mapped_.find(address); file != mapped_.end()) return file->second;
  return {};
}

std::span<const std::uint64_t> MemoryMap::site(std::uint32_t number) const {
  const auto at = sites_.find(number);
  return at == sites_.end() ? std::span<const std::uint64_t>() : at->second;
}

} // namespace recount::trace
