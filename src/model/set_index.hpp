// The set index function of a cache or TLB level.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

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

} // namespace recount::model
