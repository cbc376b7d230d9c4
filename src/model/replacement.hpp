// Replacement policies that keep one word of state per set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace recount::model {

/// Which line of a full set leaves: the least recently used, the one the tree of "not recently" bits
/// points at, the oldest, one drawn from a seeded generator, the one the tree of the least recently used
/// group of four points at, or one of the greatest age.
enum class Policy { lru, plru, fifo, random, lru_plru4, qlru };

/// Quad-age LRU, a variant of it by its name: QLRU_Hxy_Mm_Rr_Uu, see recount-machines(5).
struct Qlru {
  std::array<unsigned, 4> hit{}; ///< age after a hit, by the age before
  unsigned miss = 1;             ///< age of a new line
  unsigned replace = 0, update = 0;
  bool on_miss_only = false; ///< ages are updated before a replacement, not after each access
  bool operator==(const Qlru&) const = default;
};

/// By name ("QLRU_H00_M1_R2_U1", "srrip"). Nothing for other words and for combinations that can find no
/// line.
[[nodiscard]] std::optional<Qlru> parse_qlru(std::string_view name);

/// Ways at most of a policy: 64 bits hold the state of a set.
[[nodiscard]] constexpr std::int64_t policy_ways(Policy policy) {
  return policy == Policy::plru ? 64 : policy == Policy::lru_plru4 || policy == Policy::qlru ? 32 : 1 << 28;
}
/// Whether sets have a word of state.
[[nodiscard]] constexpr bool has_word(Policy policy) {
  return policy == Policy::plru || policy == Policy::lru_plru4 || policy == Policy::qlru;
}

/// The policy of a level with words, on the word of a set. Words are 0 at first.
class Replacement {
public:
  Replacement(Policy policy, const Qlru& qlru, std::size_t ways);

  /// After the line in `way` was hit, or came in.
  void used(std::uint64_t& word, std::size_t way, bool hit) const;
  /// The way of a new line, if every place is taken.
  [[nodiscard]] std::size_t victim(std::uint64_t word) const;
  /// Before a miss, whether or not there is a free place.
  void missed(std::uint64_t& word) const;
  /// Of several free places the last is taken.
  [[nodiscard]] bool takes_last_free() const { return policy_ == Policy::qlru && qlru_.replace == 2; }

private:
  void point_away(std::uint64_t& word, std::size_t way) const;
  void move_to_front(std::uint64_t& word, std::size_t group) const;
  [[nodiscard]] unsigned age(std::uint64_t word, std::size_t way) const;
  void set_age(std::uint64_t& word, std::size_t way, unsigned age) const;
  void update(std::uint64_t& word, std::size_t but) const;

  Policy policy_;
  Qlru qlru_;
  std::size_t ways_, leaves_;
};

} // namespace recount::model
