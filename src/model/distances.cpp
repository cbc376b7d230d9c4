#include "model/distances.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace recount::model {

namespace {

constexpr std::uint64_t no_line = ~std::uint64_t{0};

} // namespace

Distances::Distances(const MachineDescription& machine) : line_(machine.levels.front().line) {
  std::map<std::uint64_t, std::size_t> most; // ways by sets
  for (const FamilyMember& member : machine.family) {
    std::size_t& ways = most[static_cast<std::uint64_t>(member.sets(line_))];
    ways = std::max(ways, static_cast<std::size_t>(member.ways));
  }
  std::size_t lines = 0, counts = 0;
  for (const auto& [sets, ways] : most) {
    groups_.push_back({sets, std::has_single_bit(sets) ? sets - 1 : 0, ways, lines, counts, true});
    lines += sets * ways;
    counts += 2 * (ways + 1);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i)
    for (std::size_t later = i + 1; later < groups_.size(); ++later)
      if (groups_[later].sets % groups_[i].sets != 0) groups_[i].spreads = false;
  lines_.assign(lines, no_line);
  counts_.assign(counts, 0);
}

void Distances::deeper(const Group& group, std::uint64_t* lines, std::uint64_t line, bool store) {
  std::uint64_t before = lines[0];
  std::size_t depth = 1;
  for (; depth < group.ways; ++depth) {
    std::swap(before, lines[depth]);
    if (before == line) break;
  }
  lines[0] = line;
  ++counts_[group.counts + 2 * depth + (store ? 1 : 0)];
}

std::int64_t Distances::misses(std::span<const std::int64_t> counts, const FamilyMember& member,
                               bool store) const {
  const auto sets = static_cast<std::uint64_t>(member.sets(line_));
  const auto group = std::ranges::find(groups_, sets, &Group::sets);
  std::int64_t sum = 0;
  for (auto depth = static_cast<std::size_t>(member.ways); depth <= group->ways; ++depth)
    sum += counts[group->counts + 2 * depth + (store ? 1 : 0)];
  return sum;
}

void Distances::add(std::span<const std::int64_t> later, std::span<const std::int64_t> earlier,
                    std::int64_t times) {
  for (std::size_t i = 0; i < counts_.size(); ++i)
    counts_[i] += times * (later[i] - earlier[i]);
}

void Distances::reset_counters() {
  std::ranges::fill(counts_, 0);
}

void Distances::save(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), lines_.begin(), lines_.end());
}

void Distances::clear() {
  std::ranges::fill(lines_, no_line);
}

} // namespace recount::model
