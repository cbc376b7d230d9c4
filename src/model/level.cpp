#include "model/level.hpp"

#include <algorithm>
#include <map>

namespace recount::model {

Level::Level(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru, std::uint64_t seed,
             unsigned shift)
    : policy_(policy),
      wide_(WideSets::supported() && WideSets::allowed && ordered(policy) && ways <= WideSets::most_ways),
      shift_(shift),
      number_(index.sets()),
      ways_(ways),
      wide_sets_(wide_ ? index : SetIndex(1), wide_ ? ways : 1),
      sets_(wide_ ? SetIndex(1) : index, wide_ ? 1 : ways, wide_ ? Policy::lru : policy, qlru, seed) {}

Level::Level(const LevelDescription& level, std::uint64_t seed)
    : Level(SetIndex(static_cast<std::uint64_t>(level.sets()), level.index),
            static_cast<std::size_t>(level.ways), level.policy, level.qlru, seed,
            static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(level.line)))) {
  if (level.sector > 0)
    sectors =
        Sectors(shift_, static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(level.sector))));
}

Level::Level(const TlbLevel& level, std::uint64_t seed)
    : Level(SetIndex(static_cast<std::uint64_t>(level.sets()), level.index),
            static_cast<std::size_t>(level.ways), level.policy, level.qlru, seed, 0) {}

bool Level::clean(std::uint64_t line) {
  if (sectors.any()) sectors.clean(line);
  return wide_ ? wide_sets_.clean(line) : sets_.clean(line);
}

void Level::save(std::vector<std::uint64_t>& words) const {
  const std::size_t from = words.size();
  words.resize(from + number_ * ways_);
  for (std::uint64_t set = 0; set < number_; ++set)
    read(set, std::span(words).subspan(from + set * ways_, ways_));
  sets_.save_policy(words);
  sectors.save(words);
}

std::int64_t Level::vacant() const {
  std::vector<Entry> entries(ways_);
  std::int64_t count = 0;
  for (std::uint64_t set = 0; set < number_; ++set) {
    read(set, entries);
    count += std::ranges::count(entries, empty);
  }
  return count;
}

void Level::clear() {
  wide_sets_.clear();
  sets_.clear();
  sectors.clear();
}

void Sectors::save(std::vector<std::uint64_t>& words) const {
  if (!any()) return;
  words.push_back(lines_.size());
  for (const auto& [line, of] : std::map(lines_.begin(), lines_.end()))
    words.insert(words.end(), {line, of.valid, of.dirty});
}

} // namespace recount::model
