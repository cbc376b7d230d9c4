// One pass for a family of LRU caches: stack distances within each set.
#pragma once

#include "model/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// For every number of sets that a family has, and each of those sets, the lines in order of recency. An
/// access found at depth d hits in every cache of so many sets and more than d ways, so that one look serves
/// all associativities (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM
/// Systems Journal 9(2), 1970). Not thread-safe.
class Distances {
public:
  explicit Distances(const MachineDescription& machine);

  void take(std::uint64_t line, bool store) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      const std::uint64_t set = group.mask != 0 || group.sets == 1 ? line & group.mask : line % group.sets;
      std::uint64_t* const lines = lines_.data() + group.lines + set * group.ways;
      if (lines[0] == line) {
        ++counts_[group.counts + (store ? 1 : 0)];
        if (group.spreads) return; // newest here, hence newest in all that follow
        continue;
      }
      deeper(group, lines, line, store);
    }
  }

  /// What was counted, in an order of its own; for misses() and add().
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  /// Misses of a member, by loads or by stores, among such counts.
  [[nodiscard]] std::int64_t misses(std::span<const std::int64_t> counts, const FamilyMember& member,
                                    bool store) const;
  /// Counts `times` times what lies between two moments.
  void add(std::span<const std::int64_t> later, std::span<const std::int64_t> earlier, std::int64_t times);
  void reset_counters();

  /// As Level::save().
  void save(std::vector<std::uint64_t>& words) const;
  void clear();

private:
  struct Group { ///< caches of one number of sets
    std::uint64_t sets = 1, mask = 0;
    std::size_t ways = 0;   ///< the most of them
    std::size_t lines = 0;  ///< where its sets begin in lines_
    std::size_t counts = 0; ///< where its counts begin: for each depth, `ways` standing for not there, two
    bool spreads = false;   ///< all that follow have a multiple of its sets
  };
  void deeper(const Group& group, std::uint64_t* lines, std::uint64_t line, bool store);

  std::int64_t line_;
  std::vector<Group> groups_; ///< by number of sets
  std::vector<std::uint64_t> lines_;
  std::vector<std::int64_t> counts_;
};

} // namespace recount::model
