// The sets of a level: replacement policies, the set index function, and the lines of the sets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::model {

// Replacement policies that keep one word of state per set.

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

// Which set of a level holds a line.

/// The masks of the index function "xor" for 2^k sets: bit i of the set is bit i XOR bit k + i of the line.
[[nodiscard]] std::vector<std::uint64_t> xor_masks(std::int64_t sets);

/// Maps the number of a line to its set: modulo the number of sets, or by a hash. With masks, bit i of the
/// set is the parity of line AND mask i.
class SetIndex {
public:
  /// No masks: modulo. Otherwise `sets` is 2^k and there are k masks.
  explicit SetIndex(std::uint64_t sets, std::span<const std::uint64_t> masks = {});

  [[gnu::always_inline]] [[nodiscard]] std::uint64_t operator()(std::uint64_t line) const {
    if (mask_ != no_mask) return line & mask_;
    return fold_ != 0 ? (line ^ line >> fold_) & (sets_ - 1) : general_index(line);
  }
  [[nodiscard]] std::uint64_t sets() const { return sets_; }
  [[nodiscard]] bool hashed() const { return !terms_.empty(); }
  /// Whether the set is line & (sets() - 1).
  [[nodiscard]] bool low_bits() const { return mask_ != no_mask; }
  /// Whether the set is (line ^ line >> fold()) & (sets() - 1).
  [[nodiscard]] bool folds() const { return low_bits() || fold_ != 0; }
  /// Shift distance; only if folds().
  [[nodiscard]] unsigned fold() const { return low_bits() ? no_fold : fold_; }
  static constexpr unsigned no_fold =
      63; ///< fold() if low_bits(): shifts every line to 0, since lines are below 2^63
  /// Whether set and line / sets() determine the line; then line_of() returns it.
  [[nodiscard]] bool invertible() const { return invertible_; }
  /// The line of a set with line / sets() == row; only if invertible().
  [[nodiscard]] std::uint64_t line_of(std::uint64_t set, std::uint64_t row) const {
    const std::uint64_t first = row * sets_;
    return first + (hashed() ? set ^ (*this)(first) : set);
  }

private:
  static constexpr std::uint64_t no_mask = ~std::uint64_t{0};
  /// The part of the hash whose line bits are all shifted by the same distance: (line >> right) & mask.
  struct Term {
    int right; ///< negative: to the left
    std::uint64_t mask;
  };
  [[nodiscard]] std::uint64_t general_index(std::uint64_t line) const {
    if (terms_.empty()) return line % sets_;
    std::uint64_t set = 0;
    for (const Term& term : terms_)
      set ^= std::rotr(line, term.right) & term.mask;
    return set;
  }

  std::uint64_t sets_;
  std::uint64_t mask_; ///< sets_ - 1 for modulo by a power of two, else no_mask
  unsigned fold_ = 0;  ///< log2(sets_) if the masks are those of xor_masks(), else 0
  bool invertible_ = true;
  std::vector<Term> terms_;
};

/// Whether the entries of a set have an order, newest first: of use (LRU), of arrival (FIFO).
[[nodiscard]] constexpr bool ordered(Policy policy) {
  return policy == Policy::lru || policy == Policy::fifo;
}

/// Entries, each in a place of its set where it stays. An ordered policy links the places of a set in a ring,
/// others have a word per set (Replacement) or random numbers. With many ways a map holds the place of each
/// line, so that a look-up takes constant time. Not thread-safe. An entry is 2 * line + dirty.
class Sets {
public:
  using Entry = std::uint64_t;
  static constexpr Entry empty = ~Entry{0};

  Sets(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru = {}, std::uint64_t seed = 0);

  /// Looks a line up; if present, marks it dirty if requested and updates the replacement state.
  bool use(std::uint64_t line, bool dirty);
  /// Inserts a line that is absent; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty);
  /// Removes a line; returns its entry, or `empty` if it was absent.
  Entry remove(std::uint64_t line);
  /// Marks a line clean; whether it was present and dirty.
  bool clean(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const { return find(index_(line), line) < ways_; }

  /// One set's entries: by order, empty places last, or by place.
  void read(std::uint64_t set, std::span<Entry> out) const;
  /// The state of the policy besides the order of entries.
  void save_policy(std::vector<std::uint64_t>& words) const;
  /// Empties the sets and restarts the random numbers.
  void clear();

private:
  using Number = std::uint32_t;
  struct Link { ///< places of the same set
    Number before = 0, after = 0;
  };
  static constexpr std::size_t many_ways = 32; ///< with more, the map is faster than a scan

  [[nodiscard]] std::size_t find(std::uint64_t set, std::uint64_t line) const;
  void move_before(std::uint64_t set, Number place, Number other);
  [[nodiscard]] std::size_t victim(std::uint64_t set);

  std::size_t ways_;
  SetIndex index_;
  Policy policy_;
  Replacement replacement_;
  std::vector<Entry> entries_;                       ///< set by set
  std::vector<Link> links_;                          ///< likewise; of an ordered policy
  std::vector<Number> newest_;                       ///< likewise: the place of the newest entry by set
  std::unordered_map<std::uint64_t, Number> places_; ///< in their sets, by line; of many ways
  std::vector<std::uint64_t> words_;                 ///< of replacement_, by set
  std::uint64_t seed_, random_;
};

} // namespace recount::model
